/* The shortest program, to measure what it costs to run one. With an argument it reads that file. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char bytes[64];
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
        ;
    return 0;
}
