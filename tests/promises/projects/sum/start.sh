# Adds numbers in JavaScript. It adds two only; `test/sum.test.js` asks for more.
cat >sum.js <<'EOF'
module.exports = (numbers) => numbers[0] + numbers[1];
EOF
cat >package.json <<'EOF'
{ "name": "sum", "version": "1.0.0", "private": true, "scripts": { "test": "node test/sum.test.js" } }
EOF
mkdir test
cat >test/sum.test.js <<'EOF'
const assert = require("node:assert");
const test = require("node:test");
const sum = require("../sum.js");

test("two", () => assert.strictEqual(sum([1, 2]), 3));
test("many", () => assert.strictEqual(sum([1, 2, 3, 4]), 10));
EOF
