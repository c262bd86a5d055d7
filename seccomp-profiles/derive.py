"""Puts a profile together: derive.py BASE CHANGES OUTPUT.

Of each system call that CHANGES names, nothing of BASE stays; but beside that, its "more" is added.
"""
import json
import sys

base_path, changes_path, output = sys.argv[1:]
with open(base_path, encoding="utf-8") as file:
    profile = json.load(file)
with open(changes_path, encoding="utf-8") as file:
    changes = json.load(file)
changed = {name for rule in changes["syscalls"] for name in rule["names"]}
for rule in profile["syscalls"]:
    rule["names"] = [name for name in rule["names"] if name not in changed]
profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]] + changes["syscalls"] + \
    changes.get("more", [])
profile["comment"] = changes["comment"]
with open(output, "w", encoding="utf-8") as file:
    json.dump(profile, file)
