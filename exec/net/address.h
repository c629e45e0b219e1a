// Addresses that hosts listen on and connect to: IPv4 or IPv6, by number, by name or of a network
// interface.
#ifndef EXEC_NET_ADDRESS_H
#define EXEC_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "model/base/err.h"

// Of one host and one port; `any.sa_family` says which it is. All bytes of a zeroed one that are
// not set stay zero: hosts tell each other whole ones.
typedef union Address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} Address;

#define ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN + 10)

// Whether a host may be called by what an agent alone understands.
typedef enum AddressNames { ADDRESS_NAMES_ARE_ADDRESSES, ADDRESS_NAMES_FOR_AGENT } AddressNames;

// Port 0 of this machine. Without an interface: `name`, a number such as "10.99.0.1" or "fd00::1",
// or a name that the system knows. Of an interface: the address that `name` stands for when it is
// one of its, or else its first when names are for an agent. The first of an interface is IPv4 if
// it has one; addresses that hold on one link alone (fe80::) are none here.
bool address_find(const char *name, const char *interface, AddressNames names, Address *out,
                  Err *err);
// A number or a name, at a port; IPv4 where a name has both.
bool address_of(const char *name, uint16_t port, Address *out, Err *err);

socklen_t address_size(const Address *address);
uint16_t address_port(const Address *address);
void address_set_port(Address *address, uint16_t port);
char *address_text(const Address *address, char text[ADDRESS_TEXT_MAX]); // "[fd00::1]:7000"

// A listening socket, not blocking, on that address alone; at port 0 of the system's choice, which
// `address` tells then.
bool address_listen(Address *address, int *out_socket, Err *err);
// Buffers, no delay, not blocking, closed in programs that are started.
bool address_set_up(int socket, Err *err);

#endif
