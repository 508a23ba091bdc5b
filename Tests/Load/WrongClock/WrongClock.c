#if defined(__linux__)
#define _GNU_SOURCE
#include "WrongClock.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// Times are nanoseconds. The system is called without the C library's functions, which
// these replace.

static const int64_t second = 1000000000;
enum { clock_count = CLOCK_BOOTTIME + 1, timer_limit = 65536 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int64_t rate = 100;
static int64_t offset;
// When the process has begun, by each clock.
static int64_t begun[clock_count];
// The clock of each timer, by its descriptor.
static unsigned char timer_clocks[timer_limit];

static int64_t number(const char *name, int64_t otherwise, int64_t least, int64_t most) {
    const char *text = getenv(name);
    if (text == NULL) return otherwise;
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || value < least || value > most) abort();
    return value;
}

static int64_t nanoseconds(struct timespec time) {
    __int128 value = (__int128)time.tv_sec * second + time.tv_nsec;
    if (value > INT64_MAX) return INT64_MAX;
    return value < 0 ? 0 : (int64_t)value;
}

static struct timespec timespec_of(int64_t value) {
    return (struct timespec){.tv_sec = value / second, .tv_nsec = value % second};
}

static int64_t true_time(clockid_t id) {
    struct timespec time = {0};
    syscall(SYS_clock_gettime, id, &time);
    return nanoseconds(time);
}

static void begin(void) {
    const int64_t year = 366 * 86400;
    rate = number("WRONG_CLOCK_RATE", 100, 10, 1000);
    offset = number("WRONG_CLOCK_OFFSET", 0, -year, year) * second;
    begun[CLOCK_REALTIME] = begun[CLOCK_REALTIME_COARSE] = true_time(CLOCK_REALTIME);
    begun[CLOCK_MONOTONIC] = begun[CLOCK_MONOTONIC_COARSE] = true_time(CLOCK_MONOTONIC);
    begun[CLOCK_MONOTONIC_RAW] = true_time(CLOCK_MONOTONIC_RAW);
    begun[CLOCK_BOOTTIME] = true_time(CLOCK_BOOTTIME);
}

static int is_wrong(clockid_t id) {
    pthread_once(&once, begin);
    return id >= 0 && id < clock_count && begun[id] != 0;
}

static int64_t offset_of(clockid_t id) {
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? offset : 0;
}

static int64_t clamped(__int128 value, int64_t least) {
    if (value < least) return least;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

// The time that the wrong clock shows at a true moment.
static int64_t shown(clockid_t id, int64_t time) {
    // A coarse clock may be a little behind the beginning.
    const int64_t since = time < begun[id] ? 0 : time - begun[id];
    return clamped((__int128)begun[id] + offset_of(id) + (__int128)since * rate / 100, 0);
}

// The first true moment at which the wrong clock shows a time. Never 0, which disarms a timer.
static int64_t moment(clockid_t id, int64_t time) {
    const __int128 since = (__int128)time - offset_of(id) - begun[id];
    return clamped(begun[id] + (since <= 0 ? since : (since * 100 + rate - 1) / rate), 1);
}

// The true length of a wrong duration.
static int64_t duration(int64_t time) {
    pthread_once(&once, begin);
    return clamped(((__int128)time * 100 + rate - 1) / rate, 0);
}

int clock_gettime(clockid_t id, struct timespec *time) {
    if (!is_wrong(id)) return (int)syscall(SYS_clock_gettime, id, time);
    *time = timespec_of(shown(id, true_time(id)));
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

int timerfd_create(clockid_t id, int flags) {
    const int descriptor = (int)syscall(SYS_timerfd_create, id, flags);
    if (descriptor >= timer_limit) {
        close(descriptor);
        errno = EMFILE;
        return -1;
    }
    if (descriptor >= 0) timer_clocks[descriptor] = (unsigned char)id;
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *wanted, struct itimerspec *old) {
    if (descriptor < 0 || descriptor >= timer_limit || !is_wrong(timer_clocks[descriptor]))
        return (int)syscall(SYS_timerfd_settime, descriptor, flags, wanted, old);
    struct itimerspec set = *wanted;
    const int64_t first = nanoseconds(set.it_value);
    if (set.it_value.tv_sec != 0 || set.it_value.tv_nsec != 0) {
        const int is_moment = flags & TFD_TIMER_ABSTIME;
        set.it_value = timespec_of(is_moment ? moment(timer_clocks[descriptor], first) : duration(first));
    }
    set.it_interval = timespec_of(duration(nanoseconds(set.it_interval)));
    return (int)syscall(SYS_timerfd_settime, descriptor, flags, &set, old);
}

static int milliseconds(int timeout) {
    return timeout <= 0 ? timeout : (int)clamped(duration((int64_t)timeout * 1000000) / 1000000 + 1, 1);
}

int epoll_wait(int descriptor, struct epoll_event *events, int count, int timeout) {
    return (int)syscall(SYS_epoll_pwait, descriptor, events, count, milliseconds(timeout), NULL, 0);
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
    struct timespec limit = timespec_of(duration((int64_t)(timeout < 0 ? 0 : timeout) * 1000000));
    return (int)syscall(SYS_ppoll, descriptors, count, timeout < 0 ? NULL : &limit, NULL, 0);
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    const struct timespec set = timespec_of(duration(nanoseconds(*wanted)));
    return (int)syscall(SYS_nanosleep, &set, left);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict limit) {
    int (*const wait)(sem_t *, const struct timespec *) =
        (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    const int64_t time = nanoseconds(*limit);
    const struct timespec set = timespec_of(is_wrong(CLOCK_REALTIME) ? moment(CLOCK_REALTIME, time) : time);
    return wait(semaphore, &set);
}
#endif
