// SPDX-License-Identifier: MIT OR Apache-2.0
// Plays clips of a .glb with three.js and prints the skinned vertices: play_gltf.mjs NODE_MODULES FILE, the request on standard input.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , modules, path] = process.argv;
const THREE = await import(pathToFileURL(`${modules}/three/build/three.module.js`));
const { GLTFLoader } = await import(pathToFileURL(`${modules}/three/examples/jsm/loaders/GLTFLoader.js`));
const request = JSON.parse(readFileSync(0, "utf8"));

const bytes = readFileSync(path);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const { scene, animations } = await new Promise((resolve, reject) => new GLTFLoader().parse(buffer, "", resolve, reject));
const mesh = scene.getObjectByName(request.mesh);
const point = new THREE.Vector3();

function shape() {
  scene.updateMatrixWorld(true);
  return Array.from({ length: mesh.geometry.attributes.position.count }, (_, i) =>
    mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld).toArray(),
  );
}

function play(name, times) {
  const mixer = new THREE.AnimationMixer(scene);
  const action = mixer.clipAction(THREE.AnimationClip.findByName(animations, name));
  action.setLoop(THREE.LoopOnce);
  action.clampWhenFinished = true;
  action.play();
  const shapes = times.map((time) => (mixer.setTime(time), shape()));
  mixer.stopAllAction();
  return shapes;
}

const still = shape();
const clips = Object.fromEntries(Object.entries(request.clips).map(([name, times]) => [name, play(name, times)]));
console.log(JSON.stringify({ still, clips }));
