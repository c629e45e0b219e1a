// measure FILE COMMAND...: runs a command with its stdout in FILE and prints "SECONDS KIBIBYTES
// STATUS": CPU time and the peak of resident memory (getrusage of the child, which Linux counts in
// KiB). CPU time, because others may use the machine.
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static void start(const char *path, char **command) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file >= 0 && dup2(file, STDOUT_FILENO) >= 0) execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: measure FILE COMMAND...\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) start(argv[1], argv + 2);
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("measure");
        return 2;
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%.3f %ld %d\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
