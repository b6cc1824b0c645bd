//===- MessageLowering.cpp - messages between stages ----------------------===//
//
// Neither a send nor a receive waits where it starts. A receive ends before the first instruction that touches its
// buffer; a send at its dist.send_wait, or before something writes to what is sent, at the latest at the end of the program.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/StepLowering.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static double bytesOf(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  return static_cast<double>(type.getNumElements() * rt::elementBytes(type.getElementType()));
}

/// What is sent lies where peers of the node can read it (runtime/comm/intranode): the receiver copies it whole, while a
/// message out of private memory goes in pieces, for each of which the sender has to wake up.
void StepLowering::share(rt::BufferOp buffer) {
  if (buffer.getKind() == rt::BufferKind::Activation || buffer.getKind() == rt::BufferKind::Gradient)
    buffer.setSegment(rt::Segment::Shared);
}

LogicalResult StepLowering::lowerMessage(Operation *op) {
  if (auto send = dyn_cast<dist::SendOp>(op))
    lowerSend(send);
  else if (auto receive = dyn_cast<dist::ReceiveOp>(op))
    lowerReceive(receive);
  else
    lowerSendWait(cast<dist::SendWaitOp>(op));
  return success();
}

void StepLowering::lowerSend(dist::SendOp send) {
  if (send.getPeers().empty())
    return;
  std::string label = labelOf(send, "send");
  Place from = places[send.getInput()];
  bool isPersistent = from.buffer.isPersistent();
  if (!from.view.isDense() || isPersistent) {
    Place packed = newPiece(from, label);
    copy(from, packed, label + " pack");
    from = packed;
  }
  share(from.buffer);
  Value sent = memory(from);
  auto start = rt::SendStartOp::create(b, send.getLoc(), rt::TokenType::get(b.getContext()),
                                       b.getStringAttr(label), number(0), number(bytesOf(sent)), sent,
                                       send.getPeersAttr(), send.getTagAttr());
  sending[from.buffer].push_back({send.getPeersAttr(), static_cast<int64_t>(send.getTag()), start.getToken()});
}

void StepLowering::lowerReceive(dist::ReceiveOp receive) {
  std::string label = labelOf(receive, "receive");
  Place to = resultPlace(receive.getResult(), label);
  finishSends(to.buffer);
  // Receives of several parts of a buffer do not wait for each other.
  Value received = viewOf(to);
  auto start = rt::ReceiveStartOp::create(b, receive.getLoc(), rt::TokenType::get(b.getContext()),
                                          b.getStringAttr(label), number(0), number(bytesOf(received)),
                                          received, receive.getPeersAttr(),
                                          receive.getTagAttr());
  pending[to.buffer].push_back(start.getToken());
  places[receive.getResult()] = to;
}

void StepLowering::lowerSendWait(dist::SendWaitOp wait) {
  auto isWanted = [&](const Send &send) {
    return send.peers == wait.getPeersAttr() && send.tag == static_cast<int64_t>(wait.getTag());
  };
  for (auto &[buffer, started] : sending) {
    auto found = llvm::find_if(started, isWanted);
    if (found == started.end())
      continue;
    rt::CollectiveDoneOp::create(b, wait.getLoc(), found->token);
    started.erase(found);
    return;
  }
}

void StepLowering::finishSends(rt::BufferOp buffer) {
  auto found = sending.find(buffer);
  if (found == sending.end())
    return;
  for (const Send &send : found->second)
    rt::CollectiveDoneOp::create(b, buffer.getLoc(), send.token);
  sending.erase(found);
}
