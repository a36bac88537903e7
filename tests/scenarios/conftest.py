"""The projects of the scenarios have tests of their own, which are material and not ours."""

collect_ignore_glob = ["*/project/*"]
