"""`--price` and `--price-file` from the flags to the run folder."""

import json

import pytest

from evals.commands.exit_codes import EXIT_USAGE
from evals.money.price_list import list_price
from evals.money.prices import PriceError
from evals.results import RunFolder
from evals.running import RunRequest, execute
from reports.costs import price_lines
from reports.frames import load
from tests.cost_cases import prices
from tests.run_cases import quiet, write_chats


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_chats(tmp_path_factory.mktemp("data"), 2)


def run(data, out, **flags):
    asked = RunRequest(
        paths=(data,), strategies=("identity",), with_controls=False, out=out, **flags
    )
    return list(execute(asked, quiet()).rows), RunFolder(out)


def test_a_run_says_what_it_was_priced_with(data, tmp_path):
    rows, folder = run(data, tmp_path / "run")

    manifest = folder.manifest()
    assert {(row.priced_model, row.price_basis) for row in rows} == {
        ("claude-sonnet-5-5", "default")
    }
    (used,) = manifest["prices"]
    assert used == list_price("claude-sonnet-5-5", manifest["prices_as_of"]).to_json()
    assert used["caching"]["source"].startswith("https://platform.claude.com/")
    assert manifest["versions"]["genai-prices"] in used["source"]
    assert all(row.cost_before_usd == row.cost_after_usd > 0 for row in rows)


def test_a_model_can_be_asked_for(data, tmp_path):
    rows, folder = run(data, tmp_path / "run", price="gpt-4o")

    assert {(row.priced_model, row.price_basis, row.caching_rule) for row in rows} == {
        ("gpt-4o", "given", "openai")
    }
    assert [used["model"] for used in folder.manifest()["prices"]] == ["gpt-4o"]


def test_prices_can_come_from_a_file_or_from_an_earlier_run(data, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(prices(model="mine").to_json()))

    rows, folder = run(data, tmp_path / "run", price_file=path)
    again, _ = run(data, tmp_path / "again", price_file=folder.path / "run.json")

    assert {(row.priced_model, row.price_basis) for row in rows} == {("mine", "file")}
    assert [row.cost_before_usd for row in again] == [row.cost_before_usd for row in rows]
    assert [row.cell_id for row in again] == [row.cell_id for row in rows]


def test_how_often_a_price_file_was_of_use_is_said(data, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps([prices(model=name).to_json() for name in ("mine", "ours")]))

    none, _ = run(data, tmp_path / "none")
    unused, folder = run(data, tmp_path / "unused", price_file=path)
    asked, asked_folder = run(data, tmp_path / "asked", price_file=path, price="gpt-5")
    used, used_folder = run(data, tmp_path / "used", price_file=path, price="ours")

    flags = [[row.price_file_used for row in rows] for rows in (none, unused, asked, used)]
    assert flags == [[None] * 2, [False] * 2, [False] * 2, [True] * 2]
    said = [
        [line for line in price_lines(load(each.path)) if "file" in line]
        for each in (RunFolder(tmp_path / "none"), folder, asked_folder, used_folder)
    ]
    head = "Price file: used for 0 of 2 transcripts; it has prices of mine and ours, and "
    assert said == [
        [],
        [f"{head}the others name another, or none."],
        [f"{head}--price asked for another."],
        ["Price file: used for 2 of 2 transcripts."],
    ]


def test_other_prices_make_other_cells(data, tmp_path):
    cheap, _ = run(data, tmp_path / "run", price="claude-haiku-4-5")
    dear, _ = run(data, tmp_path / "run", price="claude-opus-5")
    again, folder = run(data, tmp_path / "run", price="claude-haiku-4-5")

    assert {row.cell_id for row in cheap}.isdisjoint({row.cell_id for row in dear})
    assert [row.cell_id for row in again] == [row.cell_id for row in cheap]
    assert len(folder.rows_path.read_text().splitlines()) == len(cheap) + len(dear)
    assert all(a.cost_before_usd < b.cost_before_usd for a, b in zip(cheap, dear, strict=True))


def test_a_run_with_prices_has_a_folder_of_its_own(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = {"paths": (data,), "strategies": ("identity",), "with_controls": False}

    plain, priced = (
        execute(RunRequest(**asked, **more), quiet()).folder for more in ({}, {"price": "gpt-4o"})
    )

    assert plain != priced


def test_an_unknown_model_is_refused_before_anything_runs(data, tmp_path):
    with pytest.raises(PriceError, match="no price is known for model 'gpt-0'"):
        run(data, tmp_path / "run", price="gpt-0")

    assert not (tmp_path / "run").exists()


def test_the_command_line_takes_both_flags(data, tmp_path, capsys, monkeypatch):
    from evals.cli import main

    monkeypatch.chdir(tmp_path)
    path = tmp_path / "prices.toml"
    path.write_text('model = "mine"\n[usd_per_million_tokens]\ninput = "x"\noutput = 1.0\n')
    flags = [str(data), "--strategy", "identity", "--no-controls", "--out", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", ["compaction-evals", "run", *flags, "--price-file", str(path)])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == EXIT_USAGE
    assert "usd_per_million_tokens.input: Input should be a valid number" in capsys.readouterr().err
