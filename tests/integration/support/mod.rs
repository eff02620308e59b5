//! What the tests share: a project in a temporary folder, a scripted model, and the real binary.

mod model;
mod project;
mod run;

pub use model::Model;
pub use model::bash;
pub use model::call;
pub use model::hand_over;
pub use model::memory;
pub use model::reply;
pub use model::say;
pub use model::session;
pub use project::KEY;
pub use project::Project;
pub use run::Run;
