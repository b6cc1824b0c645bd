//===- ArenaPlan.cpp - offsets of buffers whose lives are known -----------===//

#include "passes/memory/ArenaPlan.h"
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace pdc::passes;

static int64_t alignUp(int64_t offset, int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

static bool liveTogether(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.first <= b.last && b.first <= a.last;
}

std::string pdc::passes::checkArenaProblem(const ArenaProblem &problem) {
  if (problem.begin < 0)
    return "the arena begins at " + std::to_string(problem.begin);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const ArenaBuffer &buffer = problem.buffers[i];
    std::string name = "buffer " + std::to_string(i);
    if (buffer.bytes < 0)
      return name + " has " + std::to_string(buffer.bytes) + " bytes";
    if (buffer.first > buffer.last)
      return name + " lives from " + std::to_string(buffer.first) + " to " + std::to_string(buffer.last);
    if (buffer.alignment < 1 || (buffer.alignment & (buffer.alignment - 1)) != 0)
      return name + " has alignment " + std::to_string(buffer.alignment) + ", expected a power of two";
  }
  return "";
}

int64_t pdc::passes::arenaLowerBound(const ArenaProblem &problem) {
  std::map<int64_t, int64_t> change;
  for (const ArenaBuffer &buffer : problem.buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [time, bytes] : change)
    most = std::max(most, live += bytes);
  return problem.begin + most;
}

/// Places the buffers one after the other, each into the smallest gap that it fits into between those placed
/// before that live at the same time, at the lowest address of equal ones.
static ArenaPlan placeInOrder(const ArenaProblem &problem, const std::vector<size_t> &order) {
  ArenaPlan plan;
  plan.offsets.assign(problem.buffers.size(), problem.begin);
  plan.bytes = problem.begin;
  std::set<std::pair<int64_t, size_t>> placed; // (offset, buffer)
  for (size_t index : order) {
    const ArenaBuffer &buffer = problem.buffers[index];
    if (buffer.bytes == 0)
      continue;
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), end = problem.begin;
    for (auto [offset, other] : placed) {
      if (!liveTogether(buffer, problem.buffers[other]))
        continue;
      int64_t begin = alignUp(end, buffer.alignment);
      if (int64_t gap = offset - begin; gap >= buffer.bytes && gap < bestGap) {
        best = begin;
        bestGap = gap;
      }
      end = std::max(end, offset + problem.buffers[other].bytes);
    }
    int64_t offset = best >= 0 ? best : alignUp(end, buffer.alignment);
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + buffer.bytes);
    placed.emplace(offset, index);
  }
  return plan;
}

ArenaPlan pdc::passes::planArena(const ArenaProblem &problem) {
  auto buffer = [&](size_t i) -> const ArenaBuffer & { return problem.buffers[i]; };
  auto area = [&](size_t i) {
    return static_cast<double>(buffer(i).bytes) * static_cast<double>(buffer(i).last - buffer(i).first + 1);
  };
  std::vector<std::function<bool(size_t, size_t)>> comparisons = {
      [&](size_t a, size_t b) { return buffer(a).bytes > buffer(b).bytes; },
      [&](size_t a, size_t b) { return area(a) > area(b); },
      [&](size_t a, size_t b) { return buffer(a).first < buffer(b).first; },
  };
  int64_t bound = arenaLowerBound(problem);
  ArenaPlan best;
  for (size_t c = 0; c < comparisons.size(); ++c) {
    std::vector<size_t> order(problem.buffers.size());
    std::iota(order.begin(), order.end(), 0);
    const std::function<bool(size_t, size_t)> &before = comparisons[c];
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (before(a, b) || before(b, a))
        return before(a, b);
      return a < b;
    });
    ArenaPlan plan = placeInOrder(problem, order);
    if (c == 0 || plan.bytes < best.bytes)
      best = std::move(plan);
    if (best.bytes == bound)
      break;
  }
  return best;
}

std::string pdc::passes::verifyArenaPlan(const ArenaProblem &problem, const ArenaPlan &plan) {
  if (plan.offsets.size() != problem.buffers.size())
    return "the plan has " + std::to_string(plan.offsets.size()) + " offsets for " +
           std::to_string(problem.buffers.size()) + " buffers";
  std::map<int64_t, std::vector<size_t>> begins, ends;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const ArenaBuffer &buffer = problem.buffers[i];
    int64_t offset = plan.offsets[i];
    if (offset % buffer.alignment != 0)
      return "buffer " + std::to_string(i) + " lies at " + std::to_string(offset) +
             ", not at a multiple of " + std::to_string(buffer.alignment);
    if (offset < problem.begin || offset + buffer.bytes > plan.bytes)
      return "buffer " + std::to_string(i) + " lies outside of the arena";
    if (buffer.bytes == 0)
      continue;
    begins[buffer.first].push_back(i);
    ends[buffer.last].push_back(i);
  }
  // What is alive never overlaps, so a new buffer can only meet its neighbours by address.
  std::map<int64_t, size_t> live;
  std::set<int64_t> times;
  for (auto &[time, list] : begins)
    times.insert(time);
  for (auto &[time, list] : ends)
    times.insert(time);
  for (int64_t time : times) {
    for (size_t i : begins[time]) {
      int64_t begin = plan.offsets[i], end = begin + problem.buffers[i].bytes;
      auto next = live.lower_bound(begin);
      bool meetsNext = next != live.end() && next->first < end;
      bool meetsPrevious = next != live.begin() &&
                           std::prev(next)->first + problem.buffers[std::prev(next)->second].bytes > begin;
      if (meetsNext || meetsPrevious)
        return "buffers " + std::to_string(i) + " and " +
               std::to_string(meetsNext ? next->second : std::prev(next)->second) +
               " overlap and are both alive at " + std::to_string(time);
      live.emplace(begin, i);
    }
    for (size_t i : ends[time])
      live.erase(plan.offsets[i]);
  }
  return "";
}
