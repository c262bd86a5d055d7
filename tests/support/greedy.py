"""An image whose interpreter makes itself comfortable where it is to wait for its code."""

import os
import subprocess

LARGE_FILE = 48 << 20

# The code of a program that waits is a FIFO.
GREEDY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    struct stat status;
    if (stat(arguments[count - 1], &status) < 0 || !S_ISFIFO(status.st_mode)) {
        puts("cold");
        return 0;
    }
    switch (GREED) {
    case 'm':
        memset(malloc(256u << 20), 7, 256u << 20);
        break;
    case 't': /* each process has a limit of its own besides */
        for (int i = 0; i < 20; i++)
            if (fork() == 0)
                for (;;)
                    ;
        break;
    case 'p':
        for (int i = 0; i < 40; i++)
            if (fork() == 0)
                pause();
        break;
    case 'f': /* which takes nothing of its own */
        mmap(NULL, LARGE_FILE, PROT_READ, MAP_SHARED | MAP_POPULATE, open("/large", O_RDONLY), 0);
    }
    fopen(arguments[count - 1], "r");
    return 0;
}
"""


def greedy_store(program, path, greed):
    """A directory for XDG_DATA_HOME with the image "greedy".

    `greed` is for "memory", "time", "processes", a large file of its own ("files"), or "none"."""
    interpreter = path / "root/usr/bin/python3"
    interpreter.parent.mkdir(parents=True)
    with open(path / "root/large", "wb") as file:
        file.truncate(LARGE_FILE)
    (path / "greedy.c").write_text(GREEDY)
    subprocess.run(["gcc", "-static", f"-DGREED='{greed[0]}'", f"-DLARGE_FILE={LARGE_FILE}",
                    "-o", interpreter, path / "greedy.c"], check=True)
    subprocess.run([program, "fetch", "greedy", "--from", path / "root"], check=True,
                   env={**os.environ, "XDG_DATA_HOME": str(path / "data")})
    return path / "data"
