"use strict";
// Tries each way. A way that throws has failed, and the next one is tried.

function worker(code) {
  return new Worker(URL.createObjectURL(new Blob([code])));
}

async function connect(iceServers) {
  const connection = new RTCPeerConnection({ iceServers });
  connection.createDataChannel("x");
  await connection.setLocalDescription(await connection.createOffer());
  return connection;
}

// Both ends in this page; one is told to find the other at the canary.
async function candidate(place) {
  const [here, there] = [new RTCPeerConnection(), new RTCPeerConnection()];
  here.createDataChannel("x");
  await here.setLocalDescription(await here.createOffer());
  await there.setRemoteDescription(here.localDescription);
  await there.setLocalDescription(await there.createAnswer());
  await here.setRemoteDescription(there.localDescription);
  const [host, port] = place.split(":");
  const line = `candidate:1 1 udp 2122260223 ${host} ${port} typ host`;
  await here.addIceCandidate({ candidate: line, sdpMid: "0", sdpMLineIndex: 0 });
}

function frame(src) {
  const element = document.createElement("iframe");
  element.src = src;
  return document.body.appendChild(element);
}

function submit(method, action) {
  const target = document.body.appendChild(document.createElement("iframe"));
  target.name = `form-${method}`;
  const form = document.body.appendChild(document.createElement("form"));
  Object.assign(form, { method, action, target: target.name });
  form.append(Object.assign(document.createElement("input"), { name: "x", value: "y" }));
  form.submit();
}

function tryWay(name, way) {
  try {
    const result = way();
    if (result && result.catch) result.catch(() => 0);
  } catch {}
  document.documentElement.dataset.tried = Number(document.documentElement.dataset.tried || 0) + 1;
}
