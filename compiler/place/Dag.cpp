//===- Dag.cpp - a directed acyclic graph of numbered nodes ---------------===//

#include "compiler/place/Dag.h"
#include <algorithm>
#include <functional>
#include <queue>

using namespace pdc::place;

void Dag::addEdge(int from, int to) {
  std::vector<int> &out = successorsOf[from];
  // The shorter list says it as well: one node of a hostile graph may have all the edges.
  bool outIsShorter = out.size() <= predecessorsOf[to].size();
  const std::vector<int> &list = outIsShorter ? out : predecessorsOf[to];
  if (std::find(list.begin(), list.end(), outIsShorter ? to : from) != list.end())
    return;
  out.push_back(to);
  predecessorsOf[to].push_back(from);
}

std::vector<int> Dag::findCycle() const {
  // Depth-first search with its own stack: profiles of hostile depth must not overflow ours.
  enum : char { New, Open, Done };
  std::vector<char> state(size(), New);
  for (int root = 0; root < size(); ++root) {
    if (state[root] != New)
      continue;
    std::vector<std::pair<int, size_t>> stack{{root, 0}};
    state[root] = Open;
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      if (next == successors(node).size()) {
        state[node] = Done;
        stack.pop_back();
        continue;
      }
      int to = successors(node)[next++];
      if (state[to] == Open) {
        std::vector<int> cycle;
        for (size_t i = stack.size(); i-- > 0 && (cycle.push_back(stack[i].first), stack[i].first != to);)
          ;
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      if (state[to] == New) {
        state[to] = Open;
        stack.push_back({to, 0});
      }
    }
  }
  return {};
}

std::vector<int> Dag::depthFirstOrder() const {
  std::vector<int> missing(size()), ready, order;
  for (int node = size() - 1; node >= 0; --node)
    if ((missing[node] = static_cast<int>(predecessors(node).size())) == 0)
      ready.push_back(node);
  while (!ready.empty()) {
    int node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (auto to = successors(node).rbegin(); to != successors(node).rend(); ++to)
      if (--missing[*to] == 0)
        ready.push_back(*to);
  }
  return order;
}

std::vector<int> Dag::smallestFirstOrder() const {
  std::vector<int> missing(size()), order;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int node = 0; node < size(); ++node)
    if ((missing[node] = static_cast<int>(predecessors(node).size())) == 0)
      ready.push(node);
  while (!ready.empty()) {
    int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int to : successors(node))
      if (--missing[to] == 0)
        ready.push(to);
  }
  return order;
}

std::vector<int> Dag::components() const {
  std::vector<int> component(size(), -1);
  int count = 0;
  for (int root = 0; root < size(); ++root) {
    if (component[root] >= 0)
      continue;
    std::vector<int> stack{root};
    component[root] = count;
    while (!stack.empty()) {
      int node = stack.back();
      stack.pop_back();
      for (const std::vector<int> *neighbours : {&successors(node), &predecessors(node)})
        for (int to : *neighbours)
          if (component[to] < 0) {
            component[to] = count;
            stack.push_back(to);
          }
    }
    ++count;
  }
  return component;
}

std::vector<int> Dag::strongComponents() const {
  std::vector<int> component(size(), -1), index(size(), -1), low(size(), 0), path;
  int time = 0, count = 0;
  for (int root = 0; root < size(); ++root) {
    if (index[root] >= 0)
      continue;
    std::vector<std::pair<int, size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      if (next == 0) {
        index[node] = low[node] = time++;
        path.push_back(node);
      }
      if (next < successors(node).size()) {
        int to = successors(node)[next++];
        if (index[to] < 0)
          stack.push_back({to, 0});
        else if (component[to] < 0)
          low[node] = std::min(low[node], index[to]);
        continue;
      }
      int done = node;
      stack.pop_back();
      if (!stack.empty())
        low[stack.back().first] = std::min(low[stack.back().first], low[done]);
      if (low[done] != index[done])
        continue;
      for (int member = -1; member != done;) {
        member = path.back();
        path.pop_back();
        component[member] = count;
      }
      ++count;
    }
  }
  return component;
}
