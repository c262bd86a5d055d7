/*
 * The thread that reads the channel: passes cells on, and interrupts the one it is told to.
 *
 * A free main thread gives a cell up by itself. One that does not answer in time is busy: then JavaScript is
 * ended there by the inspector. That may be too late for the cell and would then hit what is executed next; so a
 * message follows that does nothing but be hit, and no other cell is passed on before the end is confirmed.
 */
'use strict';

/* Executed from its text: it has nothing but its workerData. */
function watch() {
  const { readSync } = require('node:fs');
  const { Session } = require('node:inspector');
  const { workerData: { port, state, protocol } } = require('node:worker_threads');
  const { CHANNEL, FRAME_BYTES, RUN, INTERRUPT, END, RUNNING, ASKED, ENDING } = protocol;
  const ANSWER_MS = 20;
  const session = new Session();
  const frame = new Uint32Array(5); // a longer one is none of ours
  const alive = setInterval(() => {}, 1 << 30);
  const word = (number, who) => number << 2 | who;

  function change(number, from, to) {
    return Atomics.compareExchange(state, 0, word(number, from), word(number, to)) === word(number, from);
  }

  function read() {
    try {
      return readSync(CHANNEL, frame, 0, FRAME_BYTES + 1, null);
    } catch (error) {
      return error.code === 'EINTR' ? -1 : 0;
    }
  }

  function serve() {
    for (;;) {
      const count = read();
      const [kind, cell, length, wish] = frame;
      if (count === 0 || (count === FRAME_BYTES && kind === END)) return stop();
      if (count !== FRAME_BYTES) continue;
      if (kind === RUN && cell !== 0) {
        Atomics.store(state, 0, word(cell, RUNNING));
        port.postMessage({ kind, cell, length, wish });
      } else if (kind === INTERRUPT && isToBeEnded(cell)) {
        return endJavaScript(cell);
      }
    }
  }

  function isToBeEnded(cell) {
    if (!change(cell, RUNNING, ASKED)) return false;
    port.postMessage({ kind: INTERRUPT, cell });
    Atomics.wait(state, 0, word(cell, ASKED), ANSWER_MS);
    return change(cell, ASKED, ENDING);
  }

  function endJavaScript(cell) {
    session.post('Runtime.terminateExecution', () => {
      port.postMessage({ kind: 'ended', cell });
      setImmediate(serve);
    });
    port.postMessage({ kind: 'be hit' });
  }

  function stop() {
    session.disconnect();
    clearInterval(alive);
    port.close();
  }

  session.connectToMainThread();
  port.postMessage({ kind: 'ready' });
  serve();
}

module.exports = { watch };
