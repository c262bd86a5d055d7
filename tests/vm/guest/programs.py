"""Programs whose output has to be the same on each architecture: name, and code. They ask for much that differs below:
numbers of system calls, the sign of char, alignment, atomic operations, just-in-time compilers.
"""

PYTHON = {
    "arithmetic": "print(2 ** 200, -7 // 2, divmod(-7, 3), 0.1 + 0.2, 1e308 * 10, round(2.5), float.hex(1 / 3))",
    "mathematics": "import cmath, math\nprint(math.fsum([0.1] * 10), math.gcd(12, 18), cmath.sqrt(-1), math.isqrt(10 ** 30))",
    "structures": "import struct\nprint(struct.pack('@bhilqfd', -1, -2, -3, -4, -5, 1.5, 2.5).hex(), struct.calcsize('@clcd'))",
    "text": "import re, unicodedata\nprint(unicodedata.normalize('NFD', 'é').encode(), re.findall(r'\\w+', 'naïve Ωmega'), 'ß'.upper())",
    "digests": "import hashlib, hmac, zlib\nprint(hashlib.sha512(b'x').hexdigest(), hmac.digest(b'k', b'm', 'sha256').hex(), zlib.crc32(b'x'))",
    "compression": "import bz2, lzma, zlib\ndata = bytes(range(256)) * 99\n"
                   "print(all(m.decompress(m.compress(data)) == data for m in (bz2, lzma, zlib)))",
    "native code": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.strtod.restype = ctypes.c_double\n"
                   "print(libc.strtod(b'1.25', None), libc.abs(-3), ctypes.sizeof(ctypes.c_long), ctypes.c_char(200).value)",
    "callback": "import ctypes\ntype_ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))\n"
                "array = (ctypes.c_int * 5)(3, 1, 2, 5, 4)\n"
                "ctypes.CDLL(None).qsort(array, 5, 4, type_(lambda a, b: a[0] - b[0]))\nprint(list(array))",
    "threads": "import threading\ntotal = []\nthreads = [threading.Thread(target=total.append, args=(n,)) for n in range(20)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]\nprint(sorted(total))",
    "processes": "import os, signal\npid = os.fork()\nif pid == 0: os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
                 "pid = os.fork()\nif pid == 0: signal.pause()\nos.kill(pid, signal.SIGTERM)\n"
                 "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "programs": "import subprocess\nprint(subprocess.run('echo out; echo err >&2; exit 3', shell=True, capture_output=True))",
    "pool": "import multiprocessing\nif __name__ == '__main__':\n"
            "    with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(abs, range(-5, 0)))",
    "memory": "import mmap\nfrom multiprocessing import shared_memory\nm = mmap.mmap(-1, 1 << 16); m[:3] = b'abc'; print(m[:4])\n"
              "s = shared_memory.SharedMemory(create=True, size=10); s.buf[0] = 9; print(s.buf[0]); s.close(); s.unlink()",
    "files": "import os, shutil, tempfile\nwith tempfile.TemporaryDirectory() as d:\n    open(d + '/a', 'w').write('x' * 5000)\n"
             "    os.link(d + '/a', d + '/b'); os.symlink('a', d + '/c'); os.rename(d + '/b', d + '/e'); os.mkfifo(d + '/f')\n"
             "    shutil.copy2(d + '/a', d + '/g'); os.truncate(d + '/a', 10); os.utime(d + '/g', (1, 2)); os.chmod(d + '/g', 0o640)\n"
             "    print([(n, os.lstat(d + '/' + n).st_size, oct(os.lstat(d + '/' + n).st_mode)) for n in sorted(os.listdir(d)) if n != 'f'])\n"
             "    print(os.stat(d + '/g').st_mtime, os.path.samefile(d + '/a', d + '/e'), os.access(d, os.W_OK), os.stat in os.supports_dir_fd)",
    "descriptors": "import os, select, socket\na, b = socket.socketpair(); e = select.epoll(); e.register(b, select.EPOLLIN)\n"
                   "print(e.poll(0)); a.send(b'x'); print(len(e.poll(9)), select.select([b], [], [], 9)[0] == [b])\n"
                   "r, w = os.pipe2(os.O_CLOEXEC); os.write(w, b'pipe'); print(os.read(r, 9), os.dup(r) > r)\n"
                   "m = os.open('/tmp/m', os.O_RDWR | os.O_CREAT); os.pwrite(m, b'data', 2)\n"
                   "print(os.pread(m, 9, 0), os.sendfile(w, m, 0, 6))\n"
                   "v = os.eventfd(3); print(os.eventfd_read(v))",
    "network": "import socket, threading\ns = socket.create_server(('127.0.0.1', 0))\n"
               "threading.Thread(target=lambda: s.accept()[0].sendall(b'hello')).start()\n"
               "print(socket.create_connection(s.getsockname()).recv(5))\n"
               "try: socket.create_connection(('192.0.2.1', 80), 2)\nexcept OSError as error: print(error.errno)",
    "refusals": "import os, socket\n"
                "for attempt in (lambda: os.setuid(0), lambda: os.chroot('/'), lambda: os.unshare(0x10000000), lambda: socket.sethostname('x'),\n"
                "                lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW), lambda: os.nice(-5), lambda: open('/etc/passwd', 'a'),\n"
                "                lambda: os.mknod('/tmp/x', 0o60600, 0x800)):\n"
                "    try: print('done', attempt())\n    except OSError as error: print(error.errno)",
    "asynchronous": "import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\n"
                    "    print((await p.communicate(b'cat'))[0], await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(5))))\n"
                    "asyncio.run(main())",
    "database": "import sqlite3\nd = sqlite3.connect('/tmp/d'); d.execute('create table t (x real)')\n"
                "d.executemany('insert into t values (?)', [(n / 3,) for n in range(9)]); d.commit()\n"
                "print(d.execute('select count(*), sum(x), avg(x) from t').fetchone())",
    "crash": "import ctypes, sys\nprint('before'); sys.stdout.flush(); ctypes.string_at(1)",
    "error": "import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\n"
             "signal.pause(); print(time.clock_getres(time.CLOCK_MONOTONIC) < 1); raise ValueError('boom')",
}

JAVASCRIPT = {
    "arithmetic": "console.log(0.1 + 0.2, 2n ** 100n, -7 % 3, 1 / -0, (25).toString(36), 0x7fffffff | 0, 1 << 31, -1 >>> 0)",
    "mathematics": "console.log(Math.hypot(3, 4), Math.fround(1 / 3), Math.imul(0xffffffff, 5), Math.clz32(1), Math.trunc(-1.5))",
    "compiled": "let sum = 0; for (let i = 0; i < 3e6; i++) sum = (sum * 31 + i) | 0; console.log(sum)",
    "compiled with numbers": "function f(x) { return Math.sqrt(x) * 1.5 } let s = 0; for (let i = 0; i < 1e6; i++) s += f(i); console.log(s)",
    "text": "console.log('é'.normalize('NFD').length, [...'a🎉b'].length, 'ß'.toUpperCase(), 'naïve'.replace(/\\p{L}/gu, '.'))",
    "views": "const v = new DataView(new ArrayBuffer(16)); v.setFloat64(0, Math.PI); v.setInt16(8, -2, true);\n"
             "console.log(Buffer.from(v.buffer).toString('hex'), new Uint8Array(new Float32Array([1.5]).buffer))",
    "objects": "const m = new Map([[1, { a: [1, , 3] }]]); console.log(m, structuredClone(m), JSON.stringify([...m]), new Set('aab'))",
    "classes": "class A { #x = 1; get x() { return this.#x } static y = 2 } console.log(new A().x, A.y, new A() instanceof A)",
    "generators": "function* f(n) { while (n) yield n-- } console.log([...f(5)])",
    "promises": "(async () => { console.log(await Promise.all([1, Promise.resolve(2)]),\n"
                "  (await Promise.allSettled([Promise.reject(3)]))[0].reason) })()",
    "timers": "setImmediate(() => { console.log('first'); setTimeout(() => console.log('second'), 20) }); process.nextTick(() => console.log('now'))",
    "digests": "const c = require('crypto'); console.log(c.createHash('sha512').update('x').digest('hex'),\n"
               "  c.createHmac('md5', 'k').update('m').digest('base64'), c.pbkdf2Sync('p', 's', 99, 16, 'sha1').toString('hex'))",
    "encryption": "const c = require('crypto'); const e = c.createCipheriv('aes-256-gcm', Buffer.alloc(32, 1), Buffer.alloc(12, 2));\n"
                  "console.log(e.update('text', 'utf8', 'hex') + e.final('hex'), e.getAuthTag().toString('hex'))",
    "compression": "const z = require('zlib'); console.log(z.inflateSync(z.deflateSync('x'.repeat(9999))).length,\n"
                   "  z.brotliDecompressSync(z.brotliCompressSync('brotli')).toString())",
    "files": "const fs = require('fs'); fs.mkdirSync('/tmp/a/b', { recursive: true }); fs.writeFileSync('/tmp/a/c', 'text');\n"
             "fs.symlinkSync('c', '/tmp/a/d'); fs.renameSync('/tmp/a/c', '/tmp/a/e'); fs.copyFileSync('/tmp/a/e', '/tmp/a/f');\n"
             "fs.utimesSync('/tmp/a/f', 1, 2); fs.chmodSync('/tmp/a/f', 0o640); const s = fs.statSync('/tmp/a/f');\n"
             "console.log(fs.readdirSync('/tmp/a'), s.mtimeMs, s.mode.toString(8), fs.existsSync('/tmp/a/d')); fs.rmSync('/tmp/a', { recursive: true })",
    "asynchronous files": "require('fs').promises.readFile(__filename, 'utf8').then(t => console.log(t.length))",
    "programs": "const p = require('child_process').spawnSync('sh', ['-c', 'cat; echo err >&2; exit 3'], { input: 'in' });\n"
                "console.log(p.status, String(p.stdout), String(p.stderr))",
    "workers": "const { Worker } = require('worker_threads');\n"
               "new Worker('const w = require(\"worker_threads\"); Atomics.add(w.workerData, 0, 41); w.parentPort.postMessage(Atomics.load(w.workerData, 0))',\n"
               "  { eval: true, workerData: new Int32Array(new SharedArrayBuffer(4)).fill(1) }).on('message', m => console.log(m))",
    "network": "const net = require('net'); const s = net.createServer(c => c.end('hello')).listen(0, '127.0.0.1', () =>\n"
               "  net.connect(s.address().port, '127.0.0.1').on('data', d => { console.log(String(d)); s.close() }))",
    "assembly": "const b = Buffer.from('0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b', 'hex');\n"
                "WebAssembly.instantiate(b).then(m => console.log(m.instance.exports.add(20, 22), m.instance.exports.add(2147483647, 1)))",
    "exit": "process.on('exit', code => console.log('exit', code)); console.log(process.arch.length > 0); process.exitCode = 5",
    "abort": "console.log('before'); process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 9000)",
}

BASH = {
    "arithmetic": "echo $((2**62)) $((-7 / 2)) $((-7 % 3)) $((0xff)) $((1 << 40)) $((5 > 3))",
    "overflow": "echo $((9223372036854775807 + 1)); printf '%d %x %o\\n' -1 255 8",
    "words": "a='one two'; set -- $a; echo $# \"${a^^}\" \"${a//o/0}\" ${#a} \"${a: -3}\"",
    "arrays": "a=(3 1 2); a+=(9); echo ${#a[@]} ${a[@]:1:2}; declare -A m=([x]=1 [y]=2); echo ${m[y]} ${#m[@]}",
    "patterns": "[[ foo123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}; case abc in a*c) echo yes;; esac",
    "functions": "f() { local x=$1; ((x < 2)) && { echo 1; return; }; echo $((x * $(f $((x - 1))))); }; f 6",
    "pipes": "printf '%s\\n' c a b a | sort | uniq -c | sed 's/^ *//'; echo ${PIPESTATUS[@]}",
    "substitution": "diff <(echo a) <(echo b); echo $?; cat < <(seq 3) | tr '\\n' ' '",
    "documents": "cat <<END; cat <<< \"$((1 + 1))\"\nx $(echo y) z\nEND",
    "processes": "(sleep 0.05; echo child) & wait $!; echo $?; (exit 7); echo $?; sh -c 'kill -TERM $$'; echo $?",
    "traps": "trap 'echo leaving' EXIT; trap 'echo caught' USR1; kill -USR1 $$; echo on",
    "descriptors": "exec 5>/tmp/x; echo five >&5; exec 5>&-; cat /tmp/x; exec 6<>/tmp/x; read -u 6 line; echo $line",
    "files": "cd /tmp; mkdir -p a/b; touch -d @99 a/c; ln -s c a/d; chmod 640 a/c; stat -c '%a %Y %F %N' a/c; stat -c %N a/d; mv a/c a/e; ls a; rm -r a",
    "find": "mkdir -p /tmp/f/{1,2}; echo x > /tmp/f/1/y; find /tmp/f -type f -exec wc -c {} +; test -w /etc/passwd || echo no",
    "digests": "echo x | sha256sum; echo x | md5sum; echo x | cksum; echo x | base64",
    "octets": "printf '\\x01\\xff\\n' | od -An -tx1 -td1; head -c 3 /dev/zero | wc -c; echo ä | wc -m -c",
    "streams": "seq 1000 | awk '{ s += $1 } END { print s, s / 3 }'; seq 9 | sed -n '2~3p' | paste -sd+ ; seq 5 | tac | head -2",
    "limits": "ulimit -c; (ulimit -t 1; echo limited); umask; echo $EUID; echo \"$HOME $PWD\"",
    "refusals": "mkdir /x 2>&1; echo $?; mount -t tmpfs none /tmp 2>/dev/null; test $? -ne 0 && echo refused; unshare -n true 2>/dev/null; test $? -ne 0 && echo refused",
    "crash": "sh -c 'kill -SEGV $$'; echo $?; echo before; kill -ABRT $$",
    "failure": "set -e; echo before; false; echo never",
}

PROGRAMS = {"python": PYTHON, "javascript": JAVASCRIPT, "bash": BASH}
COMPARED = ("outcome", "exit_code", "signal", "stdout", "stderr")


def answer(record):
    """What must not depend on the processor."""
    return {key: record[key] for key in COMPARED}
