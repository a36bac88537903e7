"""`probe`: record what a model answers over views, for `run --probes` to grade."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from compaction.errors import one_line
from evals.commands.flags import Grids, Paths, Sets, Strategies, check_model, grids_of, pairs_of

MAX_REASONS: Final = 10
"""Kinds of failures that are named."""


def probe(
    paths: Paths = None,
    *,
    model: Annotated[str, typer.Option(help="Who is asked, as the endpoint names it.")],
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint; the key is in OPENAI_API_KEY.")
    ] = None,
    api: Annotated[
        Literal["chat", "responses"],
        typer.Option(help="Chat Completions, which every compatible endpoint has, or Responses."),
    ] = "chat",
    strategy: Strategies = None,
    set_: Sets = None,
    grid: Grids = None,
    questions: Annotated[int, typer.Option(min=1, help="At most so many a transcript.")] = 10,
    actions: Annotated[bool, typer.Option(help="Ask for next actions as well.")] = True,
    judge: Annotated[
        Literal["undecided", "all", "none"],
        typer.Option(help="Answers that the judge sees; all of them give its kappa."),
    ] = "undecided",
    replicates: Annotated[int, typer.Option(min=1, help="Ask each question so often.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at a time.")] = 1,
    max_cost: Annotated[
        float | None, typer.Option(min=0.0, metavar="USD", help="Stop before more is spent.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and spent; send nothing.")
    ] = False,
    price: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Take this model's prices.")
    ] = None,
    price_file: Annotated[Path | None, typer.Option(help="Prices of your own.")] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Let answers come in pieces, if the endpoint insists.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one answer.")] = 600.0,
) -> None:
    """Record what a model says: summaries, answers, next actions. Run it again to continue.

    What is recorded lies with a bundled dataset or in compaction-recordings/answers, and is never
    asked again. Grade it, offline, with `run --probes`.

    Example: compaction-evals probe datasets/short-feed-relay --model qwen2.5-coder-1.5b-instruct
    --base-url http://127.0.0.1:8091/v1 --dry-run
    """
    from evals.money.price_choice import choose_prices
    from evals.probing.ask import ProbeRequest, outlook, record
    from evals.running import RunRequest, settings_of

    if not dry_run:
        check_model(model, base_url)
    chosen = RunRequest(
        strategies=tuple(strategy or ()),
        fixed=pairs_of(set_ or [], "--set"),
        grid=grids_of(grid or [], "--grid"),
        with_controls=False,
    )
    asked = ProbeRequest(
        model=model,
        base_url=base_url,
        api=api,
        stream=stream,
        paths=tuple(paths or ()),
        settings=tuple(settings_of(chosen)) if strategy else (),
        max_questions=questions,
        with_actions=actions,
        judged=judge,
        replicates=replicates,
        concurrency=concurrency,
        max_cost_usd=max_cost,
        timeout_seconds=timeout,
        price=choose_prices(price, price_file).given(),
    )
    if dry_run:
        typer.echo(outlook(asked).text())
        return
    done = record(asked, lambda line: typer.echo(line, err=True))
    for reason in done.skipped:
        typer.echo(f"nothing asked about {reason}", err=True)
    spent = "an unknown sum" if done.spent_usd is None else f"${done.spent_usd:.4f}"
    typer.echo(f"{done.asked} new answers, {spent} spent; grade them with `run --probes`")
    for reason, n in Counter(done.failed).most_common(MAX_REASONS):
        typer.echo(f"failed, {n} times: {one_line(reason)}", err=True)
    if done.failed:
        typer.echo("the same command asks these again, and nothing that is answered", err=True)
        raise typer.Exit(1)
