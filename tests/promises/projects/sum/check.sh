test "$(node -p 'require("./sum.js")([1, 2, 3, 4])')" = 10
