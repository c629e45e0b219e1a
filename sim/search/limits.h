// How many pairs of ranks a search looks at one by one, where it bounds, chooses and places alike.
#ifndef SIM_SEARCH_LIMITS_H
#define SIM_SEARCH_LIMITS_H

// Of ranks that are not folded, such as those of an uneven plan: about a tenth of a second to
// simulate.
#define LIMITS_UNEVEN_PAIRS 24576

// Of ranks of a plan on a machine where the route of each is searched by itself: ranking on a
// fabric of 968 GPUs takes about 20 s and 150 MB with this limit.
#define LIMITS_SEARCHED_PAIRS 65536

#endif
