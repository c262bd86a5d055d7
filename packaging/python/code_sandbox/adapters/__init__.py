"""Sandboxes for frameworks of agents, a module each, which imports its framework. See docs/frameworks.md."""
