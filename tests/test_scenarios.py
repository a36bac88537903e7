import pytest

from evals.recording.scenarios import ScenarioError, UserTurn, load_scenario

HEAD = "{name: n, model: scripted, created: 1, project: p, system: s, steps: [%s]}"
ANSWERED = "{user: hi}, {say: ho}"


def loaded(tmp_path, text):
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(path)


def test_a_scenario_is_read_with_paths_relative_to_the_file(tmp_path):
    scenario = loaded(
        tmp_path,
        HEAD.replace("name: n", "name: n, generator: g.py, tools: t.py, builtin_tools: [grep]")
        % "{user: ' hi '}, {say: ho, calls: [{grep: {pattern: é}}]}, {calls: [{grep: {}}]}",
    )

    assert scenario.project == tmp_path / "p"
    assert (scenario.generator, scenario.tools) == (tmp_path / "g.py", tmp_path / "t.py")
    assert scenario.builtin_tools == ("grep",)
    first, second = scenario.steps
    assert first.user == UserTurn("hi")
    assert first.reply.tool_calls[0]["function"] == {
        "name": "grep",
        "arguments": '{"pattern": "é"}',
    }
    assert second.user is None
    assert second.reply.content is None


def test_absent_and_empty_builtin_tools_differ(tmp_path):
    assert loaded(tmp_path, HEAD % ANSWERED).builtin_tools is None
    none = HEAD.replace("name: n", "name: n, builtin_tools: []")
    assert loaded(tmp_path, none % ANSWERED).builtin_tools == ()


def test_a_user_turn_may_carry_images(tmp_path):
    scenario = loaded(tmp_path, HEAD % "{user: {text: 'see ', images: [a.png, b.png]}}, {say: ok}")

    assert scenario.steps[0].user == UserTurn("see", ("a.png", "b.png"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "not a scenario"),
        ("", "not a scenario"),
        ("- 1", "not a scenario"),
        ("!!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("{name: n}", "missing keys"),
        ((HEAD % ANSWERED).replace("system", "tool: t.py, system"), r"unknown keys \['tool'\]"),
        (HEAD % "", "no step"),
        (HEAD % "{user: hi}", "the last user message has no answer"),
        (HEAD % "{user: hi}, {user: there}, {say: ho}", "stands alone"),
        (HEAD % "{user: hi, say: ho}", "stands alone"),
        (HEAD % "{tell: hi}", r"step 0: unknown keys \['tell'\]"),
        (HEAD % "{user: {text: hi, image: a.png}}, {say: ho}", r"unknown keys of the user"),
        (HEAD % "{user: hi}, {calls: [{a: {}, b: {}}]}", "not a scenario"),
        (HEAD % "{user: hi}, {say: yes}", "step 0: True is no text; YAML wants quotes"),
    ],
)
def test_what_is_no_scenario_is_one_line_that_names_the_file(tmp_path, text, problem):
    with pytest.raises(ScenarioError, match=problem) as caught:
        loaded(tmp_path, text)

    assert "scenario.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_no_scenario(tmp_path):
    with pytest.raises(ScenarioError, match="no file there"):
        load_scenario(tmp_path / "none.yaml")


def test_a_scenario_cannot_speak_for_a_real_model(tmp_path):
    with pytest.raises(ScenarioError, match="must begin with scripted or authored"):
        loaded(tmp_path, HEAD.replace("model: scripted", "model: gpt-4.1") % ANSWERED)
