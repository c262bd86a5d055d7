#!/usr/bin/env node
"use strict";
// Becomes the program for this machine, which is in a package of its own: npm installs the one that fits.
const { spawn } = require("node:child_process");
const { name: own, optionalDependencies: programs } = require("./package.json");

function fail(text) {
  process.stderr.write(`code-sandbox-mcp: ${text}\n`);
  process.exit(1);
}

function find() {
  const name = `${own}-${process.platform}-${process.arch}`;
  if (!(name in programs))
    fail(`sandboxes need Linux on x86-64 or arm64, and this is ${process.platform} on ${process.arch}`);
  try {
    return require.resolve(`${name}/bin/code-sandbox-mcp`);
  } catch {
    return fail(`the package ${name} is missing: install ${own} again, with optional dependencies (no --omit=optional)`);
  }
}

// For Node.js before 22.15, which cannot become another program.
function stayBeside(program, words) {
  let child; // there as soon as a handler can run; before it, no signal ends this process alone
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"])
    process.on(signal, () => child.kill(signal));
  child = spawn(program, words, { stdio: "inherit" });
  child.on("error", (error) => fail(`cannot start ${program}: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null)
      process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const program = find();
const words = process.argv.slice(2);
if (typeof process.execve === "function")
  process.execve(program, [program, ...words], process.env);
else
  stayBeside(program, words);
