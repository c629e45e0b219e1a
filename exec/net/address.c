// Addresses that hosts listen on and connect to.
//
// Invariant: an address that was found is of the family that it says, with all other bytes zero.
// Source: RFC 3493 (sockets of IPv6), RFC 4291 section 2.5.6 (addresses of one link).
#include "exec/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/base/file.h"
#include "model/base/text.h"

#define BUFFER_B (1 << 20) // of a socket, each way: measured as the one of least noise
#define BACKLOG  1024      // the system may hold fewer

socklen_t address_size(const Address *address) {
    return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

uint16_t address_port(const Address *address) {
    return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}

void address_set_port(Address *address, uint16_t port) {
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = htons(port);
    else
        address->v4.sin_port = htons(port);
}

char *address_text(const Address *address, char text[ADDRESS_TEXT_MAX]) {
    char host[INET6_ADDRSTRLEN] = "?";
    bool is_v6 = address->any.sa_family == AF_INET6;
    if (is_v6)
        inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof host);
    else
        inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof host);
    snprintf(text, ADDRESS_TEXT_MAX, is_v6 ? "[%s]:%u" : "%s:%u", host, address_port(address));
    return text;
}

// False of another family, and of one link alone.
static bool take(const struct sockaddr *from, Address *out) {
    Address address;
    memset(&address, 0, sizeof address);
    if (from == NULL || (from->sa_family != AF_INET && from->sa_family != AF_INET6)) return false;
    address.any.sa_family = from->sa_family;
    if (from->sa_family == AF_INET) {
        memcpy(&address.v4, from, sizeof address.v4);
    } else {
        memcpy(&address.v6, from, sizeof address.v6);
        if (IN6_IS_ADDR_LINKLOCAL(&address.v6.sin6_addr)) return false;
    }
    address_set_port(&address, 0);
    *out = address;
    return true;
}

static const void *bytes_of(const Address *address, size_t *count) {
    bool is_v6 = address->any.sa_family == AF_INET6;
    *count = is_v6 ? sizeof address->v6.sin6_addr : sizeof address->v4.sin_addr;
    return is_v6 ? (const void *)&address->v6.sin6_addr : (const void *)&address->v4.sin_addr;
}

static bool is_same(const Address *a, const Address *b) {
    size_t count, other;
    const void *of_a = bytes_of(a, &count), *of_b = bytes_of(b, &other);
    return count == other && memcmp(of_a, of_b, count) == 0;
}

// All of 127.0.0.0/8 are addresses of the interface that has 127.0.0.1.
static bool is_of(const Address *own, const Address *wanted) {
    bool loops = own->any.sa_family == AF_INET && wanted->any.sa_family == AF_INET &&
                 ntohl(own->v4.sin_addr.s_addr) >> 24 == 127 &&
                 ntohl(wanted->v4.sin_addr.s_addr) >> 24 == 127;
    return loops || is_same(own, wanted);
}

// ---- Names

static bool look_up(const char *name, struct addrinfo **out, Err *err) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char quoted[TEXT_QUOTE_MAX];
    int code = getaddrinfo(name, NULL, &hints, out);
    if (code == 0) return true;
    return err_set(err, "%s is no address, and no name that is known here%s",
                   text_quote(name, quoted), code == EAI_AGAIN ? " (no name server answers)" : "");
}

bool address_of(const char *name, uint16_t port, Address *out, Err *err) {
    struct addrinfo *all;
    char quoted[TEXT_QUOTE_MAX];
    if (!look_up(name, &all, err)) return false;
    bool found = false;
    for (struct addrinfo *one = all; one != NULL; one = one->ai_next) {
        Address address;
        if (!take(one->ai_addr, &address)) continue;
        if (found && (out->any.sa_family == AF_INET || address.any.sa_family != AF_INET)) continue;
        found = true;
        *out = address;
    }
    freeaddrinfo(all);
    if (found) address_set_port(out, port);
    return found || err_set(err,
                            "host %s has an address of one link alone (fe80::), which other "
                            "hosts do not have",
                            text_quote(name, quoted));
}

// ---- Interfaces

typedef enum Match { MATCH_NOTHING, MATCH_V6, MATCH_V4, MATCH_NAME } Match; // the best is the last

// The address that the name stands for when the interface has it, or else its first.
static Match match(const struct ifaddrs *all, const char *interface, const struct addrinfo *wanted,
                   Address *out) {
    Match best = MATCH_NOTHING;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        Address own, other;
        if (strcmp(one->ifa_name, interface) != 0 || !take(one->ifa_addr, &own)) continue;
        Match now = own.any.sa_family == AF_INET ? MATCH_V4 : MATCH_V6;
        for (const struct addrinfo *name = wanted; name != NULL && now != MATCH_NAME;
             name = name->ai_next) {
            if (!take(name->ai_addr, &other) || !is_of(&own, &other)) continue;
            now = MATCH_NAME;
            own = other;
        }
        if (now <= best) continue;
        best = now;
        *out = own;
    }
    return best;
}

static bool interface_address(const char *name, const char *interface, AddressNames names,
                              Address *out, Err *err) {
    struct ifaddrs *all = NULL;
    struct addrinfo *wanted = NULL;
    char quoted[TEXT_QUOTE_MAX], quoted_name[TEXT_QUOTE_MAX];
    Err unknown = {0};
    Address address;
    if (getifaddrs(&all) != 0)
        return err_set(err, "cannot list network interfaces: %s", file_reason(errno));
    text_quote(interface, quoted);
    Match found = match(all, interface, NULL, &address);
    bool good = found != MATCH_NOTHING ||
                err_set(err, "no network interface %s with an IPv4 or IPv6 address", quoted);
    if (good && look_up(name, &wanted, &unknown)) {
        found = match(all, interface, wanted, &address);
        freeaddrinfo(wanted);
    }
    if (good && found != MATCH_NAME && names == ADDRESS_NAMES_ARE_ADDRESSES)
        good = err_set(err, "network interface %s does not have the address of host %s", quoted,
                       text_quote(name, quoted_name));
    freeifaddrs(all);
    if (good) *out = address;
    return good;
}

bool address_find(const char *name, const char *interface, AddressNames names, Address *out,
                  Err *err) {
    return interface != NULL ? interface_address(name, interface, names, out, err)
                             : address_of(name, 0, out, err);
}

// ---- Sockets

bool address_set_up(int socket, Err *err) {
    int size = BUFFER_B, one = 1;
    // buffers are a wish: a system that allows less is as right
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
        fcntl(socket, F_SETFL, O_NONBLOCK) == 0 && fcntl(socket, F_SETFD, FD_CLOEXEC) == 0)
        return true;
    return err_set(err, "cannot set up a socket: %s", file_reason(errno));
}

// A port that a run before this one has used is free although its last connections are not
// forgotten; that of a program that listens is not.
static bool listen_on(int socket, Address *address, Err *err) {
    socklen_t size = address_size(address);
    int one = 1;
    char text[ADDRESS_TEXT_MAX];
    if (!address_set_up(socket, err)) return false;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(socket, &address->any, size) == 0 && listen(socket, BACKLOG) == 0 &&
        getsockname(socket, &address->any, &size) == 0)
        return true;
    return err_set(err, "cannot listen on %s: %s", address_text(address, text),
                   errno == EADDRINUSE ? "another program does" : file_reason(errno));
}

bool address_listen(Address *address, int *out_socket, Err *err) {
    Address where = *address;
    int listener = socket(where.any.sa_family, SOCK_STREAM, 0);
    if (listener < 0) return err_set(err, "cannot make a socket: %s", file_reason(errno));
    if (!listen_on(listener, &where, err)) {
        close(listener);
        return false;
    }
    *out_socket = listener;
    *address = where;
    return true;
}
