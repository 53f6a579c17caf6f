/* Preloaded into a process: counts the system calls that touch one folder, and at the k-th of them
   kills the process, interrupts it, or lets the call fail. `system_calls.py` compiles and uses it.

   A call is counted when a path or descriptor that it takes is in the folder. Calls within libc
   (fopen, say) are not seen; CPython and SQLite make none of these for their files. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What happens at the k-th call. TORN and SHORT write `amount` bytes of what a write was to write;
   TORN then kills, SHORT returns. FAIL sets errno to `amount`. */
enum { NOTHING, KILL_BEFORE, KILL_AFTER, TORN, SHORT, FAIL, INTERRUPT_BEFORE, INTERRUPT_AFTER };

static char folder[PATH_MAX];
static size_t folder_length;
static long count, target, amount;
static int planned, log_descriptor = -1;

/* Count from now on, and do `what` at call number `k`. Without a folder, count no more. */
void system_calls_plan(const char *in, long k, int what, long how_much, int log_to)
{
    strncpy(folder, in, sizeof folder - 1);
    folder_length = strlen(folder);
    count = 0, target = k, planned = what, amount = how_much, log_descriptor = log_to;
}

static int is_inside(const char *path)
{
    if (!folder_length || strncmp(path, folder, folder_length))
        return 0;
    return path[folder_length] == '\0' || path[folder_length] == '/';
}

static void path_of(int descriptor, char *path)
{
    char link[64];
    snprintf(link, sizeof link, descriptor == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
             descriptor);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = '\0';
}

/* Whether this is in the folder: a path beside a descriptor, or without one, or a descriptor. */
static int touches(int descriptor, const char *path)
{
    char base[PATH_MAX];
    if (!folder_length)
        return 0;
    if (path && path[0] == '/')
        return is_inside(path);
    path_of(descriptor, base);
    return is_inside(base);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static int arrive(void)
{
    if (++count != target)
        return NOTHING;
    if (planned == KILL_BEFORE)
        die();
    if (planned == INTERRUPT_BEFORE)
        raise(SIGINT);
    if (planned == FAIL)
        errno = amount;
    return planned;
}

/* One line for a call that was made (and what a write wrote), then what is to happen after it:
   name, inode, offset or length, number of bytes that follow, result, path. */
static void leave(int what, const char *name, int descriptor, const char *path, off_t offset,
                  const void *bytes, long result)
{
    int error = errno;
    struct stat state = {0};
    char line[PATH_MAX + 200], found[PATH_MAX];
    if (log_descriptor >= 0) {
        if (path)
            fstatat(descriptor, path, &state, AT_SYMLINK_NOFOLLOW);
        else
            fstat(descriptor, &state), path_of(descriptor, found);
        long n = bytes && result > 0 ? result : 0;
        int length = snprintf(line, sizeof line, "%s %lu %ld %ld %ld %s\n", name,
                              (unsigned long)state.st_ino, (long)offset, n, result,
                              path ? path : found);
        syscall(SYS_write, log_descriptor, line, length);
        if (n)
            syscall(SYS_write, log_descriptor, bytes, n);
    }
    if (what == KILL_AFTER || what == TORN)
        die();
    if (what == INTERRUPT_AFTER)
        raise(SIGINT);
    errno = error;
}

#define NEXT(type, name, parameters)                                                               \
    static type(*next) parameters;                                                                 \
    if (!next)                                                                                     \
        next = (type(*) parameters)dlsym(RTLD_NEXT, #name);

/* A call whose parameters need no change. `where` and `path` say what it touches. */
#define INTERPOSE(name, parameters, arguments, where, path, offset)                                \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(int, name, parameters)                                                                \
        if (!touches(where, path))                                                                 \
            return next arguments;                                                                 \
        int what = arrive();                                                                       \
        if (what == FAIL)                                                                          \
            return -1;                                                                             \
        int result = next arguments;                                                               \
        leave(what, #name, where, path, offset, NULL, result);                                     \
        return result;                                                                             \
    }

INTERPOSE(fsync, (int fd), (fd), fd, NULL, 0)
INTERPOSE(fdatasync, (int fd), (fd), fd, NULL, 0)
INTERPOSE(flock, (int fd, int how), (fd, how), fd, NULL, how)
INTERPOSE(ftruncate, (int fd, off_t size), (fd, size), fd, NULL, size)
INTERPOSE(ftruncate64, (int fd, off_t size), (fd, size), fd, NULL, size)
INTERPOSE(fchmod, (int fd, mode_t mode), (fd, mode), fd, NULL, mode)
INTERPOSE(unlink, (const char *path), (path), AT_FDCWD, path, 0)
INTERPOSE(unlinkat, (int fd, const char *path, int flags), (fd, path, flags), fd, path, 0)
INTERPOSE(link, (const char *old, const char *path), (old, path), AT_FDCWD, path, 0)
INTERPOSE(linkat, (int from, const char *old, int fd, const char *path, int flags),
          (from, old, fd, path, flags), fd, path, 0)
INTERPOSE(rename, (const char *old, const char *path), (old, path), AT_FDCWD, path, 0)
INTERPOSE(renameat, (int from, const char *old, int fd, const char *path), (from, old, fd, path),
          fd, path, 0)
INTERPOSE(renameat2, (int from, const char *old, int fd, const char *path, unsigned flags),
          (from, old, fd, path, flags), fd, path, 0)

/* A failing close has closed the descriptor nevertheless. */
int close(int fd)
{
    NEXT(int, close, (int))
    if (!touches(fd, NULL))
        return next(fd);
    int what = arrive(), result = next(fd);
    leave(what, "close", AT_FDCWD, "", 0, NULL, result);
    if (what == FAIL)
        errno = amount;
    return what == FAIL ? -1 : result;
}

#define OPEN(name, parameters, arguments, types, where)                                            \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(int, name, types)                                                                     \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                  \
        va_end(rest);                                                                              \
        if (!touches(where, path))                                                                 \
            return next arguments;                                                                 \
        int what = arrive();                                                                       \
        if (what == FAIL)                                                                          \
            return -1;                                                                             \
        int result = next arguments;                                                               \
        leave(what, "open", result, NULL, flags, NULL, result);                                    \
        return result;                                                                             \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode), (const char *, int, ...),
     AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), (const char *, int, ...),
     AT_FDCWD)
OPEN(openat, (int fd, const char *path, int flags, ...), (fd, path, flags, mode),
     (int, const char *, int, ...), fd)
OPEN(openat64, (int fd, const char *path, int flags, ...), (fd, path, flags, mode),
     (int, const char *, int, ...), fd)

#define WRITE(name, parameters, arguments, where_written)                                          \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        NEXT(ssize_t, name, parameters)                                                            \
        if (!touches(fd, NULL))                                                                    \
            return next arguments;                                                                 \
        int what = arrive();                                                                       \
        if (what == FAIL)                                                                          \
            return -1;                                                                             \
        if ((what == TORN || what == SHORT) && (size_t)amount < size)                              \
            size = amount;                                                                         \
        ssize_t result = next arguments;                                                           \
        leave(what, "write", fd, NULL, where_written, bytes, result);                              \
        return result;                                                                             \
    }

WRITE(write, (int fd, const void *bytes, size_t size), (fd, bytes, size),
      lseek(fd, 0, SEEK_CUR) - (result > 0 ? result : 0))
WRITE(pwrite, (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset),
      offset)
WRITE(pwrite64, (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset),
      offset)
