"""`record`: an agent with real tools, authored or a model, recorded to a cassette."""

import os
from pathlib import Path
from typing import Annotated

import typer

from compaction.errors import StrategyError
from evals.commands.completion import complete_strategy
from evals.commands.flags import check_model, pairs_of


def record(
    scenario: Annotated[
        Path,
        typer.Argument(metavar="SCENARIO", help="A scenario file (evals/recording/scenarios.py)."),
    ],
    *,
    model: Annotated[
        str | None,
        typer.Option(help="Let this model be the agent. Without: the scenario's authored one."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint; the key is in OPENAI_API_KEY.")
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            autocompletion=complete_strategy,
            help="Compact the agent's context: a name from `list strategies`, or code.",
        ),
    ] = "identity",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="K=V", help="Fix a parameter of the strategy; repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the cassette. Without: compaction-recordings/NAME."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--yaml", help="Write plain YAML; the compact layout is far smaller.")
    ] = False,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="Send nothing: show that the cassette in --out still answers all that is sent.",
        ),
    ] = False,
    max_requests: Annotated[
        int, typer.Option(min=1, help="Of a model in one user turn; then the user goes on.")
    ] = 50,
    max_output_tokens: Annotated[
        int | None, typer.Option(min=1, help="Of one answer of the model.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, help="Of the model. Without: none is sent.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one answer.")] = 600.0,
) -> None:
    """Run a scenario's agent with real tools in a scratch folder, and record it.

    Run it again after an interruption: what a model had answered is not asked again.

    Example: compaction-evals record tests/scenarios/settlement-service/scenario.yaml
    --out datasets/settlement-incident
    """
    from evals.recording import scenario_recording as recording
    from evals.recording.recorder import UnrecordedRequestError
    from evals.recording.recording_live import LiveModel

    if model is not None or base_url is not None:
        check_model(model, base_url)
    live = None
    if model is not None:
        live = LiveModel(
            name=model,
            base_url=base_url,
            temperature=temperature,
            max_output_tokens=max_output_tokens,
            timeout_seconds=timeout,
        )
    elif max_output_tokens is not None or temperature is not None:
        raise StrategyError("--temperature and --max-output-tokens need --model")
    folder = out or recording.RECORDINGS_FOLDER / Path(os.path.realpath(scenario)).parent.name
    asked = recording.RecordRequest(
        scenario=scenario,
        cassette=folder / ("cassette.yaml" if plain else "cassette.json"),
        strategy=strategy,
        parameters=pairs_of(set_ or [], "--set"),
        model=live,
        max_requests=max_requests,
    )
    if replay:
        try:
            done = recording.replay(asked)
        except UnrecordedRequestError as error:
            typer.echo(error.diff, err=True)
            raise
        typer.echo(f"{done.cassette}: all {done.answers} answers asked for, as recorded")
        return
    done = recording.record(asked, lambda line: typer.echo(line, err=True))
    typer.echo(
        f"{done.cassette}: {done.requests} requests, {done.answers} answers"
        f"{f', {done.reused} of them kept before' if done.reused else ''}"
        f"{f', {done.compactions} compacted' if done.compactions else ''}, sha256 {done.sha256}"
    )
