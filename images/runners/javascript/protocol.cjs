/* What the server, the runner and its thread agree on: docs/design.md. */
'use strict';

module.exports = {
  CHANNEL: 3, CODE: 4, ANSWERS: 5, CODE_OFFSET: 16, FRAME_BYTES: 16,
  RUN: 1, INTERRUPT: 2, END: 3, READY: 16, DONE: 17,
  // Who has the cell, in two bits beside its number. FREE: nobody; RUNNING: the main thread; ASKED: that is asked to
  // give it up; ENDING: the watcher, which ends whatever JavaScript is running.
  FREE: 0, RUNNING: 1, ASKED: 2, ENDING: 3,
  word: (number, who) => number << 2 | who,
};
