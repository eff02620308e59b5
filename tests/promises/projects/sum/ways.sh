program=sum.js pinned=test/sum.test.js
add_test() { sed 's/\[1, 2\]), 3/[5]), 5/' test/sum.test.js >test/one.test.js; }
add_case() { echo 'test("none", () => assert.strictEqual(sum([]), 0));' >>test/sum.test.js; }
manifest() { sed -i 's/"1.0.0"/"1.1.0", "license": "MIT"/; s/node test.*js"/node --test test\/"/' package.json; }
refactor() { mkdir -p src; mv sum.js src/sum.js; echo 'module.exports = require("./src/sum.js");' >sum.js; }
