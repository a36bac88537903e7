"""Every bundled dataset is what its card says, and can be recorded again."""

import hashlib
import itertools
import json
import re
import shlex
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import messages_from_openai
from evals.cassettes import load_cassette
from evals.dataset_summaries import LONG_REQUESTS, UNKNOWN, summarise
from evals.datasets_folder import bundled_datasets
from evals.facts import find_facts
from evals.loading import load_file
from evals.prepare import prepare
from evals.recording.recorder import recorder
from evals.recording.scenario_recording import RecordRequest, record
from evals.recording.scenarios import load_scenario
from evals.recording.secret_shapes import redact_secrets

ROOT = Path(__file__).resolve().parents[1]
DATASETS = ROOT / "datasets"
SCENARIOS = ROOT / "tests" / "scenarios"
NAMES = [f.name for f in bundled_datasets((DATASETS,)) if (f / "README.md").is_file()]
KINDS = {
    *("goal", "constraint", "decision", "value", "path", "identifier", "error", "preference"),
    *("correction", "open task"),
}
MAX_TOTAL_BYTES = 6_000_000
COMMAND = re.compile(r"^ {4}(compaction-evals record .+)$", re.MULTILINE)
MACHINE = re.compile(
    r"/tmp/|/root/|/work/|/private/var|/home/runner|pyenv|site-packages|127\.0\.0\.1|localhost:\d"
    r"|recording-[a-z0-9_]{8}\b|Ran \d+ tests? in \d"
)


@dataclass(frozen=True)
class Bundled:
    """A dataset with what is computed from it."""

    name: str

    @property
    def folder(self):
        return DATASETS / self.name

    @cached_property
    def interactions(self):
        return load_cassette(self.folder / "cassette.json")

    @cached_property
    def messages(self):
        """The normalised transcript: the longest request and the closing reply."""
        last = self.interactions[-1]
        return [*last.request_body["messages"], reply_of(last)]

    @cached_property
    def facts(self):
        return json.loads((self.folder / "facts.json").read_text("utf-8"))

    @cached_property
    def card(self):
        return (self.folder / "README.md").read_text("utf-8")

    @cached_property
    def scenario(self):
        """The scenario of the command that the card documents."""
        (command,) = COMMAND.findall(self.card)
        words = shlex.split(command)
        assert words[-2:] == ["--out", f"datasets/{self.name}"]
        return ROOT / words[-3]

    @property
    def usages(self):
        return [i.response_json()["usage"] for i in self.interactions]

    @property
    def is_long(self):
        return len(self.interactions) >= LONG_REQUESTS


@cache
def dataset_of(name):
    return Bundled(name)


@pytest.fixture(params=NAMES)
def dataset(request):
    return dataset_of(request.param)


def reply_of(interaction):
    return interaction.response_json()["choices"][0]["message"]


def said(message):
    """The text of a message, without its calls."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def spoken(message):
    calls = message.get("tool_calls") or ()
    arguments = (str(json.loads(call["function"]["arguments"])) for call in calls)
    return "\n".join([said(message), *arguments])


def plain(text):
    return " ".join(text.replace("\\n", " ").replace("`", "").split())


def files_below(*folders):
    return [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]


def test_every_request_continues_the_one_before(dataset):
    for before, after in itertools.pairwise(dataset.interactions):
        history = before.request_body["messages"]
        longer = after.request_body["messages"]
        assert longer[: len(history)] == history
        reply = reply_of(before)
        assert longer[len(history)]["content"] == reply["content"]
        assert longer[len(history)].get("tool_calls") == reply.get("tool_calls")


def test_every_call_is_answered_once_and_in_order(dataset):
    calls = [call["id"] for m in dataset.messages for call in m.get("tool_calls") or ()]
    results = [m["tool_call_id"] for m in dataset.messages if m["role"] == "tool"]

    assert calls == results
    assert len(set(calls)) == len(calls)


def test_the_conversation_is_long_or_short_as_promised(dataset):
    requests, peak = len(dataset.interactions), max(u["prompt_tokens"] for u in dataset.usages)

    if dataset.is_long:
        assert peak >= 40_000  # thresholds in tokens have something to fire on
    else:
        assert 20 <= requests <= 40
        assert 2_000 <= peak <= 6_000


def test_no_trace_of_the_machine_is_in_the_recording(dataset):
    text = (dataset.folder / "cassette.json").read_text("ascii")

    assert MACHINE.findall(text) == []


def test_there_are_enough_facts_of_all_ten_kinds(dataset):
    assert {fact["kind"] for fact in dataset.facts} == KINDS
    assert len(dataset.facts) >= (25 if dataset.is_long else 12)
    assert len({fact["id"] for fact in dataset.facts}) == len(dataset.facts)


def test_every_evidence_is_verbatim_where_it_says(dataset):
    missing = [
        fact["id"]
        for fact in dataset.facts
        if fact["evidence"] not in said(dataset.messages[fact["stated_at"]])
    ]

    assert missing == []


def test_every_value_has_a_form_in_its_evidence(dataset):
    assert [fact["id"] for fact in dataset.facts if not fact["values"]] == []
    absent = [
        (fact["id"], forms)
        for fact in dataset.facts
        for forms in fact["values"]
        if not any(form in fact["evidence"] for form in forms)
    ]
    assert absent == []


def test_a_fact_is_needed_only_after_it_was_said(dataset):
    sizes = [len(i.request_body["messages"]) for i in dataset.interactions]
    needed = [fact for fact in dataset.facts if "needed_at" in fact]

    assert len(needed) >= len(dataset.facts) / 2
    assert [fact["id"] for fact in needed if sizes[fact["needed_at"]] <= fact["stated_at"]] == []


def test_most_needed_facts_are_named_by_the_answer_that_needs_them(dataset):
    """The others are used in other words: a limit as a constant, a rule as code."""
    needed = [fact for fact in dataset.facts if "needed_at" in fact]

    named = [
        fact["id"]
        for fact in needed
        if all(
            any(
                plain(form) in plain(spoken(reply_of(dataset.interactions[fact["needed_at"]])))
                for form in forms
            )
            for forms in fact["values"]
        )
    ]

    assert len(named) / len(needed) > 0.75


def test_superseded_facts_are_there_and_point_at_later_ones_with_other_values(dataset):
    by_id = {fact["id"]: fact for fact in dataset.facts}
    stale = [fact for fact in dataset.facts if "superseded_by" in fact]

    assert len(stale) >= (2 if dataset.is_long else 1)
    for fact in stale:
        newer = by_id[fact["superseded_by"]]
        assert newer["stated_at"] > fact["stated_at"], fact["id"]
        assert newer["values"] != fact["values"], fact["id"]


def test_every_fact_has_a_question_and_answers(dataset):
    for fact in dataset.facts:
        assert fact["question"].endswith(("?", "？")), fact["id"]
        assert fact["answers"], fact["id"]
        assert all(answer.strip() for answer in fact["answers"]), fact["id"]


def stems_of(text):
    """Beginnings of words, numbers, single Chinese characters; case and marks aside."""
    return {word[:4] for word in re.findall(r"[一-鿿]|[a-z0-9]+", text.lower())}


def test_accepted_answers_follow_from_the_evidence(dataset):
    """In half of their words, or as a plain yes or no; one in twenty may say it otherwise."""
    otherwise = []
    for fact in dataset.facts:
        answers, evidence = [stems_of(a) for a in fact["answers"]], stems_of(fact["evidence"])
        share = max(len(answer & evidence) / max(1, len(answer)) for answer in answers)
        if share < 0.5 and not {"yes", "no", "是", "否"} & set().union(*answers):
            otherwise.append((fact["id"], fact["answers"], fact["evidence"]))

    assert len(otherwise) <= len(dataset.facts) / 20, otherwise


@pytest.mark.slow
def test_facts_can_be_judged_where_they_are_needed(dataset):
    """Corrected values cannot, after the correction; of the others one in twenty may not."""
    (transcript,) = load_file(dataset.folder / "cassette.json")
    stale = {fact["id"] for fact in dataset.facts if "superseded_by" in fact}

    found = find_facts(prepare(transcript))

    others = [refused for refused in found.unverifiable if refused.id not in stale]
    assert len(others) <= len(dataset.facts) / 20, others
    assert len(found.facts) + len(found.unverifiable) == len(dataset.facts)


@pytest.mark.parametrize("name", ["cassette.json", "facts.json"])
def test_the_data_card_names_the_digest_and_size_of_each_file(dataset, name):
    raw = (dataset.folder / name).read_bytes()

    row = f"| `{name}` | {len(raw):,} bytes, SHA-256 `{hashlib.sha256(raw).hexdigest()}` |"
    assert row in dataset.card


def test_the_data_card_counts_what_is_there(dataset):
    messages, usages = dataset.messages, dataset.usages
    roles = Counter(message["role"] for message in messages)
    calls = [message.get("tool_calls") or () for message in messages]
    chars = sum(
        len(said(message)) + sum(1 + len(call["function"]["arguments"]) for call in called)
        for message, called in zip(messages, calls, strict=True)
    )
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
    stale = sum("superseded_by" in fact for fact in dataset.facts)
    users = ", ".join(str(at) for at, message in enumerate(messages) if message["role"] == "user")
    expected = [
        f"| requests (model calls) | {len(dataset.interactions)} |",
        f"| messages, with the closing reply | {len(messages)}: {roles['system']} system, "
        f"{roles['user']} user, {roles['assistant']} assistant, {roles['tool']} tool |",
        f"| tool calls | {sum(map(len, calls))}, "
        f"in {sum(len(called) > 1 for called in calls)} replies several at once",
        f"| user messages at | {users}",
        f"| text, each message once | {chars:,} characters |",
        f"| largest request | {max(usage['prompt_tokens'] for usage in usages):,} tokens |",
        f"| all requests | {sum(usage['prompt_tokens'] for usage in usages):,} input tokens, "
        f"of which {cached:,} simulated as cached; "
        f"{sum(usage['completion_tokens'] for usage in usages):,} output tokens |",
        f"| facts | {len(dataset.facts)}, all ten kinds, {stale} superseded |",
    ]

    assert [row for row in expected if row not in dataset.card] == []


def test_the_data_card_says_who_wrote_it_and_under_which_licence(dataset):
    summary = summarise(dataset.folder)

    assert summary.turns == "authored"
    assert summary.licence != UNKNOWN
    assert "## What is real, what is not" in dataset.card
    assert "## Limits" in dataset.card
    assert len(summary.about) > 80


def test_the_list_of_datasets_has_the_figures_of_each(dataset):
    rows = (DATASETS / "README.md").read_text("utf-8").splitlines()
    (row,) = [line for line in rows if line.startswith(f"| [`{dataset.name}`]")]
    summary = summarise(dataset.folder)

    figures = f"| {summary.requests} | {summary.peak_tokens:,} | {summary.facts} |"
    assert figures in row


def test_the_command_of_the_card_names_a_scenario_of_the_same_name(dataset):
    assert load_scenario(dataset.scenario).name == dataset.name
    assert dataset.scenario.parent.parent == SCENARIOS


def test_nothing_that_is_authored_has_the_shape_of_a_secret(dataset):
    for file in files_below(dataset.folder, dataset.scenario.parent):
        text = file.read_bytes().decode("utf-8", "replace")
        assert redact_secrets(text) == text, file


@pytest.mark.slow
def test_the_cassette_answers_the_client_offline(dataset):
    model = OpenAIChat(
        dataset.interactions[0].request_body["model"],
        base_url="http://localhost:9/v1",
        max_retries=0,
        temperature=0.0,
    )
    ends = (dataset.interactions[0], dataset.interactions[-1])
    with closing(model), recorder(dataset.folder / "cassette.json"):
        replies = []
        for interaction in ends:
            body = interaction.request_body
            sent = messages_from_openai(body["messages"])
            replies.append(model.complete(ModelCall(sent, tools=tuple(body["tools"]))).text)

    assert replies == [reply_of(interaction)["content"] or "" for interaction in ends]


@pytest.mark.slow
def test_recording_again_gives_the_same_digest(dataset, tmp_path):
    asked = RecordRequest(scenario=dataset.scenario, cassette=tmp_path / "cassette.json")

    again = record(asked, say=print)

    before = (dataset.folder / "cassette.json").read_bytes()
    assert load_cassette(again.cassette) == dataset.interactions
    assert again.sha256 == hashlib.sha256(before).hexdigest()


def test_datasets_and_scenarios_fit_into_the_repository():
    sizes = {file: file.stat().st_size for file in files_below(DATASETS, SCENARIOS)}

    assert sum(sizes.values()) < MAX_TOTAL_BYTES


def test_every_dataset_has_a_card():
    assert [folder.name for folder in bundled_datasets((DATASETS,))] == NAMES


def test_no_python_lies_below_the_datasets():
    assert not list(DATASETS.rglob("*.py"))


def test_the_datasets_together_are_those_that_were_asked_for():
    datasets = [dataset_of(name) for name in NAMES]
    long = [len(d.interactions) for d in datasets if d.is_long]
    with_images = [d for d in datasets if any(isinstance(m["content"], list) for m in d.messages)]
    chinese = [d for d in datasets if re.search(r"[一-鿿]{20}", said(d.messages[1]))]
    scenarios = {file.parent.name for file in SCENARIOS.glob("*/scenario.yaml")}

    assert len(long) >= 8
    assert sum(requests > 200 for requests in long) >= 2
    assert len(datasets) - len(long) >= 4
    assert with_images
    assert chinese
    assert scenarios == {d.scenario.parent.name for d in datasets}
