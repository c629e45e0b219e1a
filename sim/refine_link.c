// The links of all pairs of ranks.
//
// Invariant: every link of the machine belongs to one item of the list at most, so that loads that
// meet on a link meet in the list. A link that follows not all digits of the cells is shared: each
// pair that is listed then stands for the alike ones of the cells that have the same link.
#include "sim/refine_list.h"

#include <string.h>

#define USES_MAX 20000000 // 240 MB

typedef struct Linker {
    const RefineInput *input;
    const RefineCells *cells;
    const RefineRoutes *routes;
    RefineList *list;
    KeyMap owner; // item of each link, the bundled ones included
    bool is_split;
} Linker;

// Cells of a kind that exchanging values of the digits in `which` gives.
static uint32_t alike(const Linker *linker, const RefineKind *kind, uint32_t which) {
    uint32_t count = 1;
    for (uint32_t i = 0; i < linker->cells->digit_count; i++)
        if (which >> i & 1) count *= kind->alike[i];
    return count;
}

static void own(Linker *linker, LinkId link, uint32_t item) {
    uint64_t key = refine_mix(link);
    if (keymap_find(&linker->owner, key) != KEYMAP_NONE)
        linker->is_split = true;
    else
        keymap_add(&linker->owner, key, item);
}

static void add_link(Linker *linker, const RefineFormEdge *edge, LinkId link,
                     const RefineKind *kind) {
    RefineList *list = linker->list;
    list->links =
        mem_grow(list->links, &list->link_capacity, list->link_count + 1, sizeof *list->links);
    list->links[list->link_count] =
        (RefineLinkNode){.link = link,
                         .planes = edge->plane_count + 1,
                         .others = edge->planes,
                         .copies = alike(linker, kind, edge->follows),
                         .of = fabric_link(linker->input->fabric, link)};
    own(linker, link, list->link_count);
    for (uint32_t p = 0; p < edge->plane_count; p++)
        own(linker, link + edge->planes[p], list->link_count);
    list->link_count++;
}

static bool same_planes(const RefineLinkNode *item, const RefineFormEdge *edge, LinkId link) {
    if (item->link != link || item->planes != edge->plane_count + 1) return false;
    return item->others == edge->planes || edge->plane_count == 0 ||
           memcmp(item->others, edge->planes, edge->plane_count * sizeof *edge->planes) == 0;
}

static uint32_t link_item(Linker *linker, const RefineFormEdge *edge, LinkId link,
                          const RefineKind *kind) {
    uint32_t found = keymap_find(&linker->owner, refine_mix(link));
    if (found == KEYMAP_NONE) {
        add_link(linker, edge, link, kind);
        return linker->list->link_count - 1;
    }
    if (!same_planes(&linker->list->links[found], edge, link)) linker->is_split = true;
    return found;
}

static void add_uses(Linker *linker, RefinePair *pair) {
    RefineList *list = linker->list;
    const RefineForm *form = &linker->routes->forms[pair->form];
    const RefineRank *a = &list->ranks[pair->from], *b = &list->ranks[pair->to];
    const RefineKind *kind = &linker->cells->kinds[a->kind];
    const Fabric *fabric = linker->input->fabric;
    RefineDigits from = {0}, to = {0};
    static const RefineFormEdge alone = {.plane_count = 0}; // of an explicit form
    if (!form->is_explicit) {
        from = refine_route_digits(fabric, a->gpu);
        to = refine_route_digits(fabric, b->gpu);
    }
    pair->first_use = list->use_count;
    pair->use_count = form->edge_count;
    list->uses = mem_grow(list->uses, &list->use_capacity, list->use_count + form->edge_count,
                          sizeof *list->uses);
    for (uint32_t i = 0; i < form->edge_count; i++) {
        RouteEdge on = refine_route_link(form, i, &from, &to, fabric->shape.digit_count);
        const RefineFormEdge *edge = form->is_explicit ? &alone : &form->edges[i];
        list->uses[list->use_count++] = (RefineUse){.link = link_item(linker, edge, on.link, kind),
                                                    .weight = on.weight,
                                                    .many = alike(linker, kind, ~edge->follows)};
    }
}

// Before anything is made: bundled routes are not as long as those that were found.
static bool check_uses(const RefineRoutes *routes, const RefineList *list, Err *err) {
    uint64_t uses = 0;
    for (uint32_t p = 0; p < list->pair_count; p++)
        uses += routes->forms[list->pairs[p].form].edge_count;
    return uses <= USES_MAX ||
           err_set(err, "more than %d uses of links to tell apart: expected fewer ranks", USES_MAX);
}

bool refine_list_links(const RefineInput *input, const RefineCells *cells,
                       const RefineRoutes *routes, RefineList *list, bool *is_split, Err *err) {
    Linker linker = {.input = input, .cells = cells, .routes = routes, .list = list};
    if (!check_uses(routes, list, err)) return false;
    for (uint32_t p = 0; p < list->pair_count; p++) add_uses(&linker, &list->pairs[p]);
    *is_split = linker.is_split;
    keymap_free(&linker.owner);
    return true;
}
