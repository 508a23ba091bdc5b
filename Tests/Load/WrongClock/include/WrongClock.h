// Clocks that are wrong, for one process of a test: a shared library for LD_PRELOAD (ld.so(8)).
//
// Two variables of the environment say how:
// - WRONG_CLOCK_OFFSET: the seconds that the wall clock is ahead, or behind if negative. Default:
//   0; at most a year.
// - WRONG_CLOCK_RATE: the seconds that all clocks count in 100 s, from 10 to 1000. Default: 100.
// The process is ended (abort(3)) at its first look at a clock if one of them is something else.
//
// Design: libfaketime 0.9.10 lets a program read another time, but a timer of timerfd_create(2)
// that is set for a moment of that time waits until the true clock shows it. Dispatch sets all of
// its timers in this way, so none fires at the right moment if the clock is wrong. This library
// converts moments and durations in both directions.
//
// Wrong: clock_gettime, gettimeofday, time, timerfd_settime, epoll_wait, poll, nanosleep,
// sem_timedwait. Not wrong: the processor's clocks, pthread_cond_timedwait, and the times that the
// kernel gives to files.
#ifndef WRONGCLOCK_H
#define WRONGCLOCK_H
#endif
