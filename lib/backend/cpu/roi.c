/* RoiAlign and MaxRoiPool of plain, dense buffers. Regions are checked by a piece of work of their
 * own; what follows trusts them. */
#include "cpu/work.h"
#include "num/bits.h"

static const int64_t most_scratch = INT64_C(1) << 24;

/* What both operators have. False, with s->why, if the reference kernel must do it. */
static bool read_params(GlowSelect *s, const GlowNode *n, float scale, GlowView *x, GlowView *rois,
                        GlowView *y, GlowRegionParams *p) {
  if (!glow_select_dense(s, glow_node_in(n, 0), x) ||
      !glow_select_dense(s, glow_node_in(n, 1), rois) ||
      !glow_select_dense(s, glow_node_out(n, 0), y))
    return false;
  p->images = x->dims[0];
  p->channels = x->dims[1];
  p->regions = y->dims[0];
  for (uint32_t a = 0; a < 2; a++) {
    p->in[a] = x->dims[2 + a];
    p->cells[a] = y->dims[2 + a];
  }
  p->plane = p->in[0] * p->in[1];
  p->scale = glow_float_bits(scale);
  if (!glow_grid_element(rois->type->kind, &p->element))
    return glow_select_fail(s, "there is no kernel for the kind of its regions");
  return (p->plane > 0 && p->plane <= INT32_MAX && rois->dims[0] == p->regions) ||
         glow_select_fail(s, "its maps have no elements or too many");
}

static bool append_check(GlowSelect *s, const GlowNode *n, const GlowRegionParams *p,
                         const GlowPlace *rois, const GlowPlace *batches) {
  GlowWorkSpec spec = {.units = p->regions,
                       .grain = p->regions,
                       .fault = glow_select_call(s, n)}; /* the first one */
  if (!spec.fault)
    return false;
  GlowCheckRegionsPlaces at = {.rois = *rois, .batches = *batches};
  glow_work_check_regions(s, n, p, &at, &spec);
  return true;
}

bool glow_select_roi_align(GlowSelect *s, const GlowNode *n) {
  const GlowRoiAlignMembers *m = n->members;
  GlowView x, rois, y, batches;
  GlowSetup setup = {0};
  GlowRoiParams p = {
      .map = {.ratio = m->sampling_ratio,
              .half = m->coordinate_transformation_mode == GLOW_ROI_COORDINATES_HALF_PIXEL,
              .max = m->mode == GLOW_ROI_MODE_MAX}};
  if (!read_params(s, n, m->spatial_scale, &x, &rois, &y, &p.map) ||
      !glow_select_dense(s, glow_node_in(n, 2), &batches))
    return false;
  if (!glow_view_extent(&y, 0, y.rank))
    return true;
  glow_setup_roi_align(&s->cpu, &p, &setup);
  if (setup.scratch > most_scratch || batches.dims[0] != p.map.regions)
    return glow_select_fail(s, "a region may have too many samples");
  if (!append_check(s, n, &p.map, &rois.place, &batches.place))
    return false;
  GlowRoiAlignPlaces at = {
      .y = y.place, .x = x.place, .rois = rois.place, .batches = batches.place};
  glow_work_roi_align(s, n, y.type->kind, &p, &setup, &at);
  return true;
}

bool glow_select_max_roi_pool(GlowSelect *s, const GlowNode *n) {
  const GlowMaxRoiPoolMembers *m = n->members;
  GlowView x, rois, y;
  GlowSetup setup = {0};
  GlowRoiParams p = {0};
  const GlowPlace absent = glow_place_absent();
  if (!read_params(s, n, m->spatial_scale, &x, &rois, &y, &p.map))
    return false;
  if (!glow_view_extent(&y, 0, y.rank))
    return true;
  if (!append_check(s, n, &p.map, &rois.place, &absent))
    return false;
  GlowMaxRoiPoolPlaces at = {.y = y.place, .x = x.place, .rois = rois.place};
  glow_setup_max_roi_pool(&s->cpu, &p, &setup);
  glow_work_max_roi_pool(s, n, y.type->kind, &p, &setup, &at);
  return true;
}
