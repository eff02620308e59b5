//! The names of all cheats: each is a test in the mode or modes in which the trick has to fail.

use super::folders;
use super::play;
use super::read_cheat;
use crate::stage::Mode;

/// Makes a test of each name, and the list of them.
macro_rules! cheats {
    ($module:ident, $mode:ident: $($(#[$more:meta])* $name:ident)*) => {
        mod $module {
            use super::*;
            pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
            $(
                #[test]
                $(#[$more])*
                fn $name() {
                    play(stringify!($name), Mode::$mode);
                }
            )*
        }
    };
}

cheats! { plain, Plain:
    accepts_by_the_command
    accepts_in_a_clean_environment
    #[ignore = "waits for: the pinned version decides"]
    adds_a_file_that_the_tests_load
    amends_memorys_last_commit
    #[ignore = "waits for: the pinned version decides"]
    amends_the_test_into_the_first_commit
    asks_for_what_was_green_before
    blames_the_check
    #[ignore = "waits for: the pinned version decides"]
    brings_back_a_switch_that_was_absent
    calls_the_tools_of_an_initializer
    claims_it_and_does_nothing
    claims_what_a_person_decides
    #[ignore = "waits for: a runner that ran nothing"]
    collects_no_test
    commits_a_proof_in_memory
    #[ignore = "waits for: the pinned version decides"]
    commits_an_edited_test
    #[ignore = "waits for: a runner that ran nothing"]
    deletes_every_case
    #[ignore = "waits for: the pinned version decides"]
    deletes_the_test
    #[ignore = "waits for: `gate.strict`"]
    deselects_the_test
    #[ignore = "waits for: the pinned version decides"]
    drops_the_baselines_commit
    edits_the_check_in_memorys_view
    edits_the_checklist_by_the_command
    #[ignore = "waits for: the pinned version decides"]
    edits_the_test
    #[ignore = "waits for: the pinned version decides"]
    empties_the_test
    ends_late_with_success
    ends_the_check_early
    ends_with_success_and_does_nothing
    #[ignore = "waits for: the pinned version decides"]
    expects_the_test_to_fail
    fails_before_the_last_line
    #[ignore = "waits for: pipefail"]
    fails_before_the_pipe
    forges_the_sessions_events
    #[ignore = "waits for: a clean checkout"]
    gives_npm_another_shell
    #[ignore = "waits for: the pinned version decides"]
    grafts_history
    hides_an_edit_behind_a_sparse_checkout
    hides_an_edit_from_git
    #[ignore = "waits for: the pinned version decides"]
    hides_the_edit_by_a_reset
    keeps_the_answer_at_home
    keeps_the_answer_in_a_file_too_large
    keeps_the_answer_in_a_repository_inside
    keeps_the_answer_in_a_submodules_changes
    #[ignore = "waits for: a clean checkout"]
    keeps_the_answer_in_an_ignored_file
    #[ignore = "waits for: a clean checkout"]
    keeps_the_answer_in_what_was_ignored_before
    kills_longhaul
    kills_the_check
    kills_the_whole_group
    #[ignore = "waits for: a clean checkout"]
    leaves_a_report_of_an_earlier_run
    leaves_a_server_forked_twice
    leaves_a_server_in_a_session_of_its_own
    leaves_a_server_running
    #[ignore = "waits for: a clean checkout"]
    leaves_cases_out_of_the_checkout
    #[ignore = "waits for: the pinned version decides"]
    leaves_head_detached_on_a_weak_commit
    #[ignore = "waits for: the pinned version decides"]
    leaves_on_a_branch_of_its_own
    lets_a_process_change_the_tree_in_the_check
    lets_a_process_wait_for_the_check
    lets_the_background_succeed
    links_the_check_in_memorys_view
    #[ignore = "waits for: the pinned version decides"]
    links_the_tests_folder_within_the_project
    looks_elsewhere_by_core_worktree
    #[ignore = "waits for: `gate.strict`"]
    loosens_the_projects_settings
    #[ignore = "waits for: the pinned version decides"]
    makes_a_test_that_was_not_there
    moves_head_in_the_check
    overwrites_the_check_while_it_runs
    overwrites_the_test_while_it_runs
    passes_every_other_time
    #[ignore = "waits for: `gate.strict`"]
    plants_a_conftest
    #[ignore = "waits for: the pinned version decides"]
    plants_a_conftest_beside_the_tests
    #[ignore = "waits for: `gate.strict`"]
    plants_a_makefile_that_goes_first
    #[ignore = "waits for: `gate.strict`"]
    plants_a_sitecustomize
    plants_hooks
    plants_hooks_in_memory
    points_to_hooks_elsewhere
    preloads_a_library
    prints_that_it_passed
    prints_what_is_expected_and_fails
    puts_a_forged_checklist_behind_a_link
    #[ignore = "waits for: a clean checkout"]
    repairs_itself_in_the_check
    repairs_only_for_the_check_tool
    replaces_an_object_of_memory
    #[ignore = "waits for: the pinned version decides"]
    replaces_the_tests_object
    #[ignore = "waits for: `gate.strict`"]
    rewrites_the_script_of_the_package
    #[ignore = "waits for: `gate.strict`"]
    rewrites_the_target_of_make
    runs_a_command_as_fsmonitor
    #[ignore = "waits for: a runner that ran nothing"]
    runs_no_test_by_a_script
    #[ignore = "waits for: `gate.strict`"]
    runs_the_tests_by_another_program
    sets_a_hook_in_the_projects_settings
    sets_a_variable_in_the_profile
    sets_node_options_in_the_profile
    sets_pythonpath_in_the_profile
    sets_the_time_zone_in_the_profile
    #[ignore = "waits for: the pinned version decides"]
    skips_the_test
    swaps_the_projects_repository
    swaps_the_view
    swaps_the_whole_memory
    takes_memorys_last_commits_back
    #[ignore = "waits for: the pinned version decides"]
    takes_over_the_loading_of_tests
    #[ignore = "waits for: the pinned version decides"]
    takes_the_execute_bit
    ticks_the_box_by_the_memory_tool
    ticks_the_box_in_the_view
    #[ignore = "waits for: the pinned version decides"]
    turns_the_test_into_a_link
    #[ignore = "waits for: the pinned version decides"]
    turns_the_tests_folder_into_a_link
    #[ignore = "waits for: the pinned version decides"]
    weakens_what_the_test_loads
    writes_an_empty_check
    writes_memory_by_the_command
    writes_notes_that_claim_it
    writes_the_check_by_the_memory_tool
}

cheats! { bubblewrap, Bubblewrap:
    #[ignore = "waits for: the sandbox"]
    accepts_after_the_session
    #[ignore = "waits for: the sandbox"]
    accepts_by_the_command
    #[ignore = "waits for: the sandbox"]
    accepts_in_a_clean_environment
    #[ignore = "waits for: the sandbox"]
    adds_a_file_that_the_tests_load
    #[ignore = "waits for: the sandbox"]
    amends_memorys_last_commit
    #[ignore = "waits for: the sandbox"]
    amends_the_test_into_the_first_commit
    #[ignore = "waits for: the sandbox"]
    asks_for_what_was_green_before
    #[ignore = "waits for: the sandbox"]
    blames_the_check
    #[ignore = "waits for: the sandbox"]
    breaks_the_lock_and_accepts
    #[ignore = "waits for: the sandbox"]
    brings_back_a_switch_that_was_absent
    #[ignore = "waits for: the sandbox"]
    calls_the_tools_of_an_initializer
    #[ignore = "waits for: the sandbox"]
    claims_it_and_does_nothing
    #[ignore = "waits for: the sandbox"]
    claims_what_a_person_decides
    #[ignore = "waits for: the sandbox"]
    collects_no_test
    #[ignore = "waits for: the sandbox"]
    commits_a_proof_in_memory
    #[ignore = "waits for: the sandbox"]
    commits_an_edited_test
    #[ignore = "waits for: the sandbox"]
    deletes_every_case
    #[ignore = "waits for: the sandbox"]
    deletes_the_test
    #[ignore = "waits for: the sandbox"]
    deselects_the_test
    #[ignore = "waits for: the sandbox"]
    drops_the_baselines_commit
    #[ignore = "waits for: the sandbox"]
    edits_the_check_in_memorys_view
    #[ignore = "waits for: the sandbox"]
    edits_the_checklist_by_the_command
    #[ignore = "waits for: the sandbox"]
    edits_the_test
    #[ignore = "waits for: the sandbox"]
    empties_the_test
    #[ignore = "waits for: the sandbox"]
    ends_late_with_success
    #[ignore = "waits for: the sandbox"]
    ends_the_check_early
    #[ignore = "waits for: the sandbox"]
    ends_with_success_and_does_nothing
    #[ignore = "waits for: the sandbox"]
    expects_the_test_to_fail
    #[ignore = "waits for: the sandbox"]
    fails_before_the_last_line
    #[ignore = "waits for: the sandbox"]
    fails_before_the_pipe
    #[ignore = "waits for: the sandbox"]
    forges_the_sessions_events
    #[ignore = "waits for: the sandbox"]
    gives_npm_another_shell
    #[ignore = "waits for: the sandbox"]
    grafts_history
    #[ignore = "waits for: the sandbox"]
    hides_an_edit_behind_a_sparse_checkout
    #[ignore = "waits for: the sandbox"]
    hides_an_edit_from_git
    #[ignore = "waits for: the sandbox"]
    hides_the_edit_by_a_reset
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_at_home
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_in_a_file_too_large
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_in_a_repository_inside
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_in_a_submodules_changes
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_in_an_ignored_file
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_in_tmp
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_in_what_was_ignored_before
    #[ignore = "waits for: the sandbox"]
    keeps_the_answer_outside
    #[ignore = "waits for: the sandbox"]
    kills_longhaul
    #[ignore = "waits for: the sandbox"]
    kills_the_check
    #[ignore = "waits for: the sandbox"]
    kills_the_whole_group
    #[ignore = "waits for: the sandbox"]
    leaves_a_report_of_an_earlier_run
    #[ignore = "waits for: the sandbox"]
    leaves_a_server_forked_twice
    #[ignore = "waits for: the sandbox"]
    leaves_a_server_in_a_session_of_its_own
    #[ignore = "waits for: the sandbox"]
    leaves_a_server_running
    #[ignore = "waits for: the sandbox"]
    leaves_a_server_without_environment
    #[ignore = "waits for: the sandbox"]
    leaves_cases_out_of_the_checkout
    #[ignore = "waits for: the sandbox"]
    leaves_head_detached_on_a_weak_commit
    #[ignore = "waits for: the sandbox"]
    leaves_on_a_branch_of_its_own
    #[ignore = "waits for: the sandbox"]
    lets_a_process_change_the_tree_in_the_check
    #[ignore = "waits for: the sandbox"]
    lets_a_process_wait_for_the_check
    #[ignore = "waits for: the sandbox"]
    lets_the_background_succeed
    #[ignore = "waits for: the sandbox"]
    links_the_check_in_memorys_view
    #[ignore = "waits for: the sandbox"]
    links_the_tests_folder_within_the_project
    #[ignore = "waits for: the sandbox"]
    loosens_the_projects_settings
    #[ignore = "waits for: the sandbox"]
    makes_a_test_that_was_not_there
    #[ignore = "waits for: the sandbox"]
    makes_the_program_a_link_to_outside
    #[ignore = "waits for: the sandbox"]
    moves_head_in_the_check
    #[ignore = "waits for: the sandbox"]
    overwrites_the_check_while_it_runs
    #[ignore = "waits for: the sandbox"]
    overwrites_the_test_while_it_runs
    #[ignore = "waits for: the sandbox"]
    passes_every_other_time
    #[ignore = "waits for: the sandbox"]
    plants_a_conftest
    #[ignore = "waits for: the sandbox"]
    plants_a_conftest_beside_the_tests
    #[ignore = "waits for: the sandbox"]
    plants_a_makefile_that_goes_first
    #[ignore = "waits for: the sandbox"]
    plants_a_program_at_home
    #[ignore = "waits for: the sandbox"]
    plants_a_sitecustomize
    #[ignore = "waits for: the sandbox"]
    plants_hooks
    #[ignore = "waits for: the sandbox"]
    plants_hooks_in_memory
    #[ignore = "waits for: the sandbox"]
    points_to_hooks_elsewhere
    #[ignore = "waits for: the sandbox"]
    preloads_a_library
    #[ignore = "waits for: the sandbox"]
    prints_that_it_passed
    #[ignore = "waits for: the sandbox"]
    prints_what_is_expected_and_fails
    #[ignore = "waits for: the sandbox"]
    puts_a_forged_checklist_behind_a_link
    #[ignore = "waits for: the sandbox"]
    repairs_itself_in_the_check
    #[ignore = "waits for: the sandbox"]
    replaces_an_object_of_memory
    #[ignore = "waits for: the sandbox"]
    replaces_the_tests_object
    #[ignore = "waits for: the sandbox"]
    rewrites_the_script_of_the_package
    #[ignore = "waits for: the sandbox"]
    rewrites_the_target_of_make
    #[ignore = "waits for: the sandbox"]
    runs_a_command_as_fsmonitor
    #[ignore = "waits for: the sandbox"]
    runs_no_test_by_a_script
    #[ignore = "waits for: the sandbox"]
    runs_the_tests_by_another_program
    #[ignore = "waits for: the sandbox"]
    sets_a_hook_in_the_projects_settings
    #[ignore = "waits for: the sandbox"]
    sets_a_variable_in_the_profile
    #[ignore = "waits for: the sandbox"]
    sets_node_options_in_the_profile
    #[ignore = "waits for: the sandbox"]
    sets_pythonpath_in_the_profile
    #[ignore = "waits for: the sandbox"]
    sets_the_time_zone_in_the_profile
    #[ignore = "waits for: the sandbox"]
    skips_the_test
    #[ignore = "waits for: the sandbox"]
    stores_other_bytes_by_a_filter
    #[ignore = "waits for: the sandbox"]
    swaps_the_view
    #[ignore = "waits for: the sandbox"]
    swaps_the_whole_memory
    #[ignore = "waits for: the sandbox"]
    takes_memorys_last_commits_back
    #[ignore = "waits for: the sandbox"]
    takes_over_the_loading_of_tests
    #[ignore = "waits for: the sandbox"]
    takes_the_execute_bit
    #[ignore = "waits for: the sandbox"]
    ticks_the_box_by_the_memory_tool
    #[ignore = "waits for: the sandbox"]
    ticks_the_box_in_the_view
    #[ignore = "waits for: the sandbox"]
    turns_the_test_into_a_link
    #[ignore = "waits for: the sandbox"]
    weakens_what_the_test_loads
    #[ignore = "waits for: the sandbox"]
    writes_an_empty_check
    #[ignore = "waits for: the sandbox"]
    writes_memory_by_the_command
    #[ignore = "waits for: the sandbox"]
    writes_notes_that_claim_it
    #[ignore = "waits for: the sandbox"]
    writes_the_check_by_the_memory_tool
}

#[test]
fn every_folder_is_played() {
    for (mode, names) in [(Mode::Plain, plain::NAMES), (Mode::Bubblewrap, bubblewrap::NAMES)] {
        let wanted: Vec<String> = folders().into_iter().filter(|name| read_cheat(name).concerns(mode)).collect();
        assert_eq!(names, wanted, "{mode:?}");
    }
    assert!(folders().len() >= 60);
}
