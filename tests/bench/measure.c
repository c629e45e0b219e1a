// measure FILE COMMAND...: runs a command with its stdout in FILE and prints "SECONDS KIBIBYTES
// STATUS": the wall clock and the peak of resident memory (getrusage of the child, which Linux
// counts in KiB).
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
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
    double started_s = now_s();
    pid_t child = fork();
    if (child == 0) start(argv[1], argv + 2);
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("measure");
        return 2;
    }
    double seconds = now_s() - started_s;
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%.3f %ld %d\n", seconds, usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
