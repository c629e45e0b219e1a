// How the roles of a schedule lie on a machine: as products of digits of the GPU index, over the
// whole machine and inside scale-up domains.
//
// Inside a domain all GPUs may be alike although digits are needed to tell their NICs and leaves
// apart. So there are two shapes: `whole` is the fabric's, for transfers that leave a domain; in
// `domain` the digits inside a domain are merged into one, for transfers that stay in it. Where
// GPUs of a large domain are joined directly, each pair by a link of its own, that one digit is
// split again, into the blocks that the groups of the schedule are made of.
#ifndef SIM_LAYOUT_H
#define SIM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/schedule.h"
#include "sim/fold.h"

typedef struct LayoutShape {
    FabricShape shape;
    Box *boxes;   // [role_count]
    bool *is_box; // false: the role is no product in this shape
} LayoutShape;

typedef struct Layout {
    const Fabric *fabric;     // borrowed
    const Schedule *schedule; // borrowed
    uint32_t first_gpu;
    uint32_t domain_size;
    LayoutShape whole, domain; // memory of the caller's arena
    bool is_split;             // into blocks that groups and roles are made of, not the machine
    RoleId *owners;            // role of each rank; NULL when there is one role
} Layout;

bool layout_open(Layout *layout, const Fabric *fabric, const Schedule *schedule, uint32_t first_gpu,
                 Arena *arena, Err *err);

// Whether the GPUs of a machine are many, all alike, and joined directly, each pair by a link of
// its own.
bool layout_is_joined(const Fabric *fabric);

bool layout_is_inside(const Layout *layout, uint32_t a_gpu, uint32_t b_gpu); // same domain

// The shape in which a transfer between two GPUs is folded.
const LayoutShape *layout_shape(const Layout *layout, uint32_t a_gpu, uint32_t b_gpu);

// The box of a role in a shape, or NULL with the reason.
const Box *layout_box(const Layout *layout, const LayoutShape *shape, RoleId role, Err *err);

// Whether ranks of one role see those of another, in other domains, all alike; else the reason.
bool layout_roles_are_apart(const Layout *layout, RoleId a, RoleId b, Err *err);

// Bit d: digit d of the two GPUs differs in the shape of their transfer; the highest bit: they
// share a domain.
uint32_t layout_difference(const Layout *layout, uint32_t a_gpu, uint32_t b_gpu);

// Whether every rank of a role sees its group as any other rank of the role does.
bool layout_groups_are_regular(const Layout *layout, const GroupFamily *family, Err *err);

// Peers of one rank in its group that are alike: same role, same difference.
typedef struct LayoutRelation {
    RoleId role;
    uint32_t difference;
    uint32_t gpu; // of the first such peer
    uint64_t count;
} LayoutRelation;

#define LAYOUT_RELATIONS_MAX 64

bool layout_relations(const Layout *layout, const GroupFamily *family, uint32_t rank,
                      LayoutRelation *relations, uint32_t *out_count, Err *err);

#endif
