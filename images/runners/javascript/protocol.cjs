/* What the server, the runner and its thread agree on: docs/design.md. */
'use strict';

module.exports = {
  CHANNEL: 3, CODE: 4, ANSWERS: 5, RESULTS: 6, CALLS: 7, CODE_OFFSET: 16, FRAME_BYTES: 16,
  FUNCTIONS_OFFSET: 8, // of CODE: how many bytes behind the code tell what functions there are
  HAS_CALLS: 1 << 31, // of RUN: cells can call functions
  PACKET_BYTES: 65536, PACKET_LAST: 2, // of RESULTS
  RUN: 1, INTERRUPT: 2, END: 3, READY: 16, DONE: 17,
  // Who has the cell, in two bits beside its number. FREE: nobody; RUNNING: the main thread; ASKED: that is asked to
  // give it up; ENDING: the watcher, which ends whatever JavaScript is running.
  FREE: 0, RUNNING: 1, ASKED: 2, ENDING: 3,
  word: (number, who) => number << 2 | who,
};
