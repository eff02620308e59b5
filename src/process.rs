//! Children: own process group, given environment, bounded time and bounded output.
