/* The numbers of agentgym/sandbox/wire.py, which says what each frame holds. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#define WIRE_VERSION 1u
#define HEADER_SIZE 9u
#define MAX_PAYLOAD (1u << 20)
#define MAX_CHUNK (256u << 10) /* bytes of one DATA, STDOUT, STDERR or STREAM frame at most */
#define WINDOW_BYTES 262144u
#define FIRST_STREAM 0x80000000u

enum kind {
    PING = 1,
    EXEC = 2,
    SIGNAL = 3,
    KILL_ALL = 4,
    READ = 5,
    WRITE = 6,
    STAT = 7,
    LIST = 8,
    MAKE_DIR = 9,
    REMOVE = 10,
    PACK = 11,
    UNPACK = 12,
    CANCEL = 13,
    LISTEN = 14,
    INPUT = 32,
    STREAM = 33,
    RESET = 34,
    WINDOW = 35,
    HELLO = 64,
    STDOUT = 65,
    STDERR = 66,
    CONTROL = 67,
    EXIT = 68,
    DATA = 69,
    OK = 70,
    FAIL = 71,
    ACCEPT = 72,
};

enum { EXEC_STDIN = 1, EXEC_CONTROL = 2 };
enum { EXIT_TIMED_OUT = 1, EXIT_TRUNCATED = 2 };

enum fault {
    SYSTEM = 1,
    NOT_REGULAR = 2,
    TOO_LARGE = 3,
    BAD_REQUEST = 4,
    NO_USER = 5,
    BAD_ARCHIVE = 6,
    CANCELLED = 7,
    NO_SUCH_TARGET = 8,
};

#endif
