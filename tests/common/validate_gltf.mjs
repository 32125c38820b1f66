// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints the report of the Khronos validator on a .glb: validate_gltf.mjs NODE_MODULES FILE.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [, , modules, path] = process.argv;
const validator = createRequire(`${modules}/`)("gltf-validator");
const report = await validator.validateBytes(new Uint8Array(readFileSync(path)), { maxIssues: 0 });
console.log(JSON.stringify(report));
