"""What is inside needs a framework: test_frameworks.py runs it."""

collect_ignore = ["inside"]
