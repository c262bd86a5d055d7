// Runs tests of Node's own suite, and prints one JSON object: what became of each.
//
// This is the code of a run; a line that sets ARGUMENTS stands before it: {group, match, ignore,
// seconds}, where the group is the directory and the beginning of the names of the tests.
// A test is a program that ends with 0 when it passes; what is to stand on its command line, it says
// in a comment. Source: test/README.md of Node, tools/test.py.
'use strict';
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const TESTS = '/usr/lib/node-tests/test';
const LOG_KEPT = 2000;

function flagsOf(source) {
  const flags = [];
  for (const [, line] of source.matchAll(/^\/\/ Flags:(.*)$/gm)) flags.push(...line.trim().split(/\s+/));
  return flags;
}

function outcomeOf(done) {
  if (done.error?.code === 'ETIMEDOUT') return 'timeout';
  if (done.signal) return done.signal;
  if (done.status !== 0) return 'failed';
  return /^1\.\.0 # Skipped/m.test(done.stdout) ? 'skipped' : 'passed';
}

function run(name) {
  const file = path.join(TESTS, name);
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'node-'));
  const done = spawnSync(process.execPath, [...flagsOf(fs.readFileSync(file, 'utf8')), file], {
    cwd: temporary,
    encoding: 'utf8',
    env: { ...process.env, NODE_TEST_DIR: temporary },
    killSignal: 'SIGKILL',
    maxBuffer: 64 << 20,
    timeout: ARGUMENTS.seconds * 1000,
  });
  fs.rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  return [outcomeOf(done), (done.stdout + done.stderr).slice(-LOG_KEPT)];
}

const [directory, beginning] = ARGUMENTS.group.split('/');
const names = fs.readdirSync(path.join(TESTS, directory))
  .filter((name) => /\.m?js$/.test(name) && name.startsWith(beginning))
  .map((name) => `${directory}/${name}`)
  .filter((name) => !ARGUMENTS.ignore.includes(name))
  .filter((name) => ARGUMENTS.match.length === 0 || ARGUMENTS.match.includes(name));
const cases = {};
let log = '';
for (const name of names) {
  const [outcome, text] = run(name);
  cases[name] = outcome;
  if (outcome !== 'passed') log += `--- ${name}: ${outcome}\n${text}\n`;
}
process.stdout.write(JSON.stringify({ cases, log }));
