import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations, long_runs
from compaction.contract.invariants import Checker
from compaction.history import History, View
from compaction.llm import ScriptedChat, drive
from compaction.messages import INSTRUCTION_ROLES, Message, ToolCall
from compaction.pairing import groups, pair
from compaction.strategy import Context, Request
from compaction.tokens import CharCounter
from evals.controls import CONTROLS, DropAll, Identity, RandomDrop, Salad, Truncate
from evals.extraction.references import extract_references
from evals.prepare import prepare
from evals.replay import replay
from evals.synthetic import generate


def views_of(strategy, messages, *, seed=0):
    """Return (history, view) of every request of a conversation, one per assistant message."""
    compactor, whole = strategy.start(Context(CharCounter(), seed=seed)), History(messages)
    ends = [at for at, message in enumerate(messages) if message.role == "assistant"]
    ends.append(len(messages))
    return [
        (
            whole.prefix(end),
            drive(compactor.steps(whole.prefix(end), Request(number)), ScriptedChat([])),
        )
        for number, end in enumerate(ends)
    ]


def indices_of(view):
    return {at for e in view.entries if e.origin.kind != "generated" for at in e.origin.indices}


def chars(messages):
    return sum(CharCounter().count(message) for message in messages)


def last_user(messages):
    return max((at for at, m in enumerate(messages) if m.role == "user"), default=None)


ALL = [Identity(), DropAll(), RandomDrop(), Salad(), Truncate(keep_tokens=900)]


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
@given(messages=conversations(max_turns=3, max_rounds=5, allow_pending=False))
def test_every_control_keeps_what_it_promises_at_every_request(strategy, messages):
    checker = Checker(strategy.promises)

    for history, view in views_of(strategy, messages):
        found = checker.see(
            history,
            view,
            tokens_before=chars(history.messages()),
            tokens_after=chars(view.messages),
        )

        assert found == []


def test_every_short_name_is_the_name_of_its_class():
    assert {strategy.name for strategy in ALL} == CONTROLS.keys()


@given(conversations())
def test_identity_is_the_history(messages):
    for history, view in views_of(Identity(), messages):
        assert view == View.of(history)
        assert view.events == ()


def test_identity_saves_exactly_nothing():
    prepared = prepare(generate(61, seed=3))

    steps = list(replay(prepared, Identity(), ScriptedChat([])))

    assert [step.tokens - step.request.tokens for step in steps] == [0.0] * 30


@given(conversations())
def test_drop_all_leaves_the_instructions_and_the_latest_user_message(messages):
    for history, view in views_of(DropAll(), messages):
        expected = [
            at
            for at, message in enumerate(history.messages())
            if message.role in INSTRUCTION_ROLES or at == last_user(history.messages())
        ]

        assert view.messages == tuple(messages[at] for at in expected)
        assert [entry.origin.first for entry in view.entries] == expected


@given(conversations(max_turns=4), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(0, 5))
def test_random_drop_keeps_a_call_with_all_its_results_or_nothing_of_them(messages, share, seed):
    for history, view in views_of(RandomDrop(drop_fraction=share, seed=seed), messages):
        shown = indices_of(view)
        paired = pair(history.messages())

        for caller, results in paired.results_of.items():
            assert {caller, *results} <= shown or not {caller, *results} & shown


@given(long_runs(), st.integers(0, 5))
def test_random_drop_repeats_itself_with_a_seed_and_never_brings_back_what_it_dropped(
    messages, seed
):
    strategy = RandomDrop(seed=seed)

    first, again = views_of(strategy, messages, seed=1), views_of(strategy, messages, seed=1)

    assert [view for _, view in first] == [view for _, view in again]
    dropped = set()
    for history, view in first:
        assert not dropped & indices_of(view)
        dropped |= set(range(len(history))) - indices_of(view)


def test_random_drop_differs_by_either_seed_and_drops_about_its_share():
    messages = tuple(Message("assistant", f"{at}") for at in range(2_000))

    def kept(parameter_seed, context_seed):
        strategy = RandomDrop(drop_fraction=0.25, seed=parameter_seed)
        return indices_of(views_of(strategy, messages, seed=context_seed)[-1][1])

    assert kept(0, 0) != kept(1, 0)
    assert kept(0, 0) != kept(0, 1)
    # 1500 are expected; four standard deviations are 4 * sqrt(2000 * 0.25 * 0.75) = 77.
    assert 1_423 < len(kept(0, 0)) < 1_577


@pytest.mark.parametrize(("share", "expected"), [(0.0, {0, 1, 2, 3}), (1.0, {0, 3})])
def test_the_extremes_of_random_drop(share, expected):
    messages = (
        Message("system", "s"),
        Message("user", "old"),
        Message("assistant", "a"),
        Message("user", "new"),
    )

    assert indices_of(views_of(RandomDrop(drop_fraction=share), messages)[-1][1]) == expected


@given(
    conversations(max_turns=4, allow_pending=False), st.sampled_from([0, 1, 100, 900, 4_000, 10**6])
)
def test_truncate_keeps_the_newest_that_fit_and_no_result_without_its_call(messages, keep):
    for history, view in views_of(Truncate(keep_tokens=keep), messages):
        n = len(history)
        n_head = next((at for at in range(n) if history[at].role not in INSTRUCTION_ROLES), n)
        tail = [entry.origin.first for entry in view.entries[n_head:]]

        assert view.messages[:n_head] == history.messages()[:n_head]
        assert tail == list(range(n - len(tail), n))
        assert chars(view.messages[n_head:]) <= keep or len(groups(view.messages[n_head:])) == 1
        assert not pair(view.messages).orphans


def test_truncate_goes_an_eighth_below_and_then_stays_until_it_is_full_again():
    messages = tuple(Message("assistant", "x" * 100) for _ in range(25))

    views = views_of(Truncate(keep_tokens=800), messages)

    sizes = [chars(view.messages) for _, view in views]
    # Full at 8 messages; the ninth makes 900, so that the target of 700 is left.
    assert sizes[:9] == [0, 100, 200, 300, 400, 500, 600, 700, 800]
    assert sizes[9:15] == [700, 800, 700, 800, 700, 800]
    removed = [sum(event.messages_removed for event in view.events) for _, view in views]
    assert removed[8:13] == [0, 2, 0, 2, 0]


def test_truncate_within_its_budget_says_that_nothing_was_done():
    views = views_of(Truncate(keep_tokens=10**6), (Message("user", "a"), Message("assistant", "b")))

    assert [(view.messages, view.events) for _, view in views] == [
        ((Message("user", "a"),), ()),
        ((Message("user", "a"), Message("assistant", "b")), ()),
    ]


REPORT = (
    "We found the fault in src/billing/rates.py after a long search through all of it. "
    "Please see https://example.org/tickets/4711 for what the customer had written to us. "
    "The commit is 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432 and it must not be reverted."
)


def test_salad_holds_every_reference_and_no_sentence():
    messages = (
        Message("system", "Be brief."),
        Message("user", "Look at it."),
        Message(
            "assistant",
            REPORT,
            tool_calls=(ToolCall("c", "read", '{"path": "lib/other/module.py"}'),),
        ),
        Message("tool", REPORT, tool_call_id="c"),
        Message("assistant", "Nothing to report here."),
        Message("user", "Thanks."),
    )

    view = views_of(Salad(), messages)[-1][1]

    texts = [message.text for message in view.messages]
    assert texts[0] == "Be brief."
    assert texts[-1] == "Thanks."
    assert len(texts) == 4
    for text, path in ((texts[1], "lib/other/module.py"), (texts[2], "src/billing/rates.py")):
        assert path in text.split(", ")
        for reference in extract_references(REPORT):
            assert reference.value in text
        assert not {"found", "customer", "reverted"} & set(text.split())
    assert not any(message.tool_calls or message.is_result for message in view.messages)


def test_salad_leaves_a_message_without_references_out_and_stands_for_the_others():
    views = views_of(
        Salad(), (Message("user", REPORT), Message("assistant", "Yes."), Message("user", "Ok."))
    )

    assert [entry.origin.spans for entry in views[-1][1].entries] == [((0, 1),), ((2, 3),)]
    assert views[-1][1].entries[0].origin.kind == "generated"


def test_the_controls_of_a_planted_conversation_save_as_they_should():
    prepared = prepare(generate(201, seed=1))

    def saving(strategy):
        steps = list(replay(prepared, strategy, ScriptedChat([])))
        return 1 - sum(step.tokens for step in steps) / prepared.input_tokens

    assert saving(Identity()) == 0.0
    assert saving(DropAll()) > 0.98
    assert 0.3 < saving(RandomDrop(drop_fraction=0.5)) < 0.7
    half = Truncate(keep_tokens=round(prepared.peak_tokens / 2))
    assert 0.1 < saving(half) < 0.5


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Truncate(keep_tokens=-1), "keep_tokens must be >= 0, got -1"),
        (lambda: RandomDrop(drop_fraction=1.1), "drop_fraction must be in 0..1, got 1.1"),
        (lambda: RandomDrop(drop_fraction=-0.1), "drop_fraction must be in 0..1, got -0.1"),
    ],
)
def test_values_that_make_no_sense_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_a_late_instruction_is_kept_where_it_stands():
    messages = (
        Message("user", "a"),
        Message("developer", "late rule"),
        Message("assistant", "b"),
        Message("user", "c"),
    )

    for strategy in (DropAll(), RandomDrop(drop_fraction=1.0), Salad()):
        view = views_of(strategy, messages)[-1][1]

        assert [message.text for message in view.messages] == ["late rule", "c"]


def test_an_empty_conversation_has_an_empty_view_under_every_control():
    for strategy in ALL:
        assert [view.entries for _, view in views_of(strategy, ())] == [()]
