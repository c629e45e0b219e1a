// simgrid_bench PREFIX [FINISH]: what SimGrid makes of the platform PREFIX.xml and the messages of
// PREFIX.flows (lines "SOURCE DESTINATION BYTES"), which all start at 0, as one line of numbers:
//
//   BUILD_S SOLVE_S PEAK_KIB END_US MESSAGES
//
// BUILD_S and SOLVE_S are CPU seconds, of reading the platform and of the run. FINISH gets the time
// of each end in seconds, in the order of the messages.
//
// The model is plain max-min: CM02 with everything off that SimGrid adds for TCP over Ethernet, and
// with times kept far finer than the default of 10 us, which would merge ends.
// Every host has an actor that sends and one that receives; each starts all its messages at once,
// then waits for them. One-sided messages (Comm::sendto) would be shorter here, but make 3.32 look
// through all of them at the end of each: 20 times slower with 65,280.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <xbt/log.h>

namespace s4u = simgrid::s4u;

struct Message {
    s4u::Host *from, *to;
    std::uint64_t bytes;
    double finish_s;
};

static double cpu_s() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

static long peak_KiB() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void configure(const std::string &option) {
    s4u::Engine::set_config(option);
}

static void configure_max_min() {
    xbt_log_control_set("xbt_cfg.thresh:warning"); // which would tell of each of these
    configure("network/model:CM02");
    configure("network/weight-S:0");
    configure("network/TCP-gamma:0");
    configure("network/crosstraffic:no");
    configure("network/latency-factor:1");
    configure("network/bandwidth-factor:1");
    configure("network/loopback-lat:0");
    configure("surf/precision:1e-15");
    configure("contexts/stack-size:64");
}

static std::vector<Message> read_messages(s4u::Engine &engine, const std::string &path) {
    std::vector<Message> messages;
    std::ifstream file(path);
    std::string from, to;
    for (std::uint64_t bytes; file >> from >> to >> bytes;)
        messages.push_back({engine.host_by_name(from), engine.host_by_name(to), bytes, 0});
    return messages;
}

// One mailbox a message.
static s4u::Mailbox *mailbox_of(const Message *message) {
    return s4u::Mailbox::by_name(message->from->get_name() + ">" + message->to->get_name());
}

static void send(const std::vector<Message *> &messages) {
    std::vector<s4u::CommPtr> comms;
    for (Message *message : messages)
        comms.push_back(mailbox_of(message)->put_async(message, message->bytes));
    for (s4u::CommPtr &comm : comms) comm->wait();
}

static void receive(const std::vector<Message *> &messages) {
    std::vector<s4u::CommPtr> comms;
    std::vector<Message *> received(messages.size());
    for (std::size_t i = 0; i < messages.size(); i++)
        comms.push_back(mailbox_of(messages[i])->get_async<Message>(&received[i]));
    for (std::size_t i = 0; i < messages.size(); i++) {
        comms[i]->wait();
        messages[i]->finish_s = comms[i]->get_finish_time();
    }
}

static bool write_finish(const char *path, const std::vector<Message> &messages) {
    std::FILE *file = std::fopen(path, "w");
    if (file == nullptr) return false;
    for (const Message &message : messages) std::fprintf(file, "%.17g\n", message.finish_s);
    return std::fclose(file) == 0;
}

int main(int argc, char **argv) {
    double started_s = cpu_s();
    s4u::Engine engine(&argc, argv);
    configure_max_min();
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr, "usage: simgrid_bench PREFIX [FINISH]\n");
        return 2;
    }
    std::string prefix = argv[1];
    engine.load_platform(prefix + ".xml");
    std::vector<Message> messages = read_messages(engine, prefix + ".flows");
    std::map<std::string, std::vector<Message *>> sent, received;
    for (Message &message : messages) {
        sent[message.from->get_name()].push_back(&message);
        received[message.to->get_name()].push_back(&message);
    }
    for (const auto &entry : sent)
        s4u::Actor::create("send", entry.second[0]->from, send, entry.second);
    for (const auto &entry : received)
        s4u::Actor::create("receive", entry.second[0]->to, receive, entry.second);
    double built_s = cpu_s();
    engine.run();
    double ended_s = cpu_s();
    std::printf("%.6f %.6f %ld %.6f %zu\n", built_s - started_s, ended_s - built_s, peak_KiB(),
                s4u::Engine::get_clock() * 1e6, messages.size());
    if (argc == 3 && !write_finish(argv[2], messages)) {
        std::fprintf(stderr, "simgrid_bench: cannot write %s\n", argv[2]);
        return 2;
    }
    return 0;
}
