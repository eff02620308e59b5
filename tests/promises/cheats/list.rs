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
    adds_a_file_that_the_tests_load
    adds_a_lock_file_and_keeps_the_answer_in_an_ignored_one
    amends_memorys_last_commit
    amends_the_test_into_the_first_commit
    asks_for_what_was_green_before
    blames_the_check
    breaks_and_mends_what_was_green
    brings_back_a_switch_that_was_absent
    brings_the_case_that_is_chosen
    calls_the_tools_of_an_initializer
    claims_it_and_does_nothing
    claims_what_a_person_decides
    collects_no_test
    commits_a_proof_in_memory
    commits_an_edited_test
    commits_an_object_in_place_of_the_test
    compiles_a_module_in_place_of_the_test
    deletes_every_case
    deletes_the_test
    deselects_the_test
    drops_the_baselines_commit
    edits_a_test_named_by_its_module
    edits_a_test_named_to_cargo
    edits_a_test_that_the_check_clones
    edits_the_check_in_memorys_view
    edits_the_checklist_by_the_command
    edits_the_test
    empties_a_script_of_expect
    empties_a_test_behind_a_lock
    empties_a_test_behind_a_variable
    empties_a_test_below_the_toplevel
    empties_a_test_in_a_loop
    empties_a_test_named_in_code
    empties_a_test_of_perls_name
    empties_a_test_that_find_finds
    empties_the_program_of_awk
    empties_the_program_that_reads_a_file
    empties_the_script_found_on_the_path
    empties_the_script_that_is_put_in_as_code
    empties_the_script_that_judges
    empties_the_script_that_the_shell_is_fed
    empties_the_script_whose_output_is_compared
    empties_the_test
    ends_a_program_of_go_with_success
    ends_late_with_success
    ends_the_check_early
    ends_the_file_of_tests_with_success
    ends_the_runner_after_it_failed
    ends_the_runner_with_success
    ends_with_success_and_does_nothing
    expects_the_test_to_fail
    fails_before_a_semicolon
    fails_before_and
    fails_before_the_last_line
    fails_before_the_pipe
    fails_first_in_a_loop
    forges_the_sessions_events
    gives_npm_another_shell
    grafts_history
    has_the_test_expected_to_fail_by_the_product
    has_the_test_skipped_by_the_product
    hides_an_edit_behind_a_sparse_checkout
    hides_an_edit_from_git
    hides_the_edit_by_a_reset
    hushes_prove_by_its_settings
    includes_other_rules
    keeps_the_answer_at_home
    keeps_the_answer_in_a_file_too_large
    keeps_the_answer_in_a_ref
    keeps_the_answer_in_a_repository_inside
    keeps_the_answer_in_a_submodules_changes
    keeps_the_answer_in_an_ignored_file
    keeps_the_answer_in_an_unreachable_object
    keeps_the_answer_in_what_was_ignored_before
    keeps_what_must_be_gone
    kills_longhaul
    kills_the_check
    kills_the_whole_group
    leaves_a_report_of_an_earlier_run
    leaves_a_server_forked_twice
    leaves_a_server_in_a_session_of_its_own
    leaves_a_server_running
    leaves_cases_out_of_the_checkout
    leaves_head_detached_on_a_weak_commit
    leaves_on_a_branch_of_its_own
    leaves_the_test_out_of_the_archive
    lets_a_process_change_the_tree_in_the_check
    lets_a_process_wait_for_the_check
    lets_the_background_succeed
    links_the_check_in_memorys_view
    links_the_tests_folder_within_the_project
    looks_elsewhere_by_core_worktree
    loosens_the_projects_settings
    makes_a_file_named_like_the_target
    makes_a_module_in_place_of_the_folder
    makes_a_module_of_tests
    makes_a_package_of_tests
    makes_a_test_named_with_its_case
    makes_a_test_that_was_not_there
    makes_the_program_a_link_to_outside
    makes_the_program_that_judges
    makes_the_script_that_judges
    makes_the_script_that_the_shell_is_fed
    makes_the_script_that_the_shell_reads_in
    makes_what_is_expected
    moves_head_in_the_check
    overwrites_the_check_while_it_runs
    overwrites_the_test_while_it_runs
    passes_every_other_time
    plants_a_conftest
    plants_a_conftest_beside_the_tests
    plants_a_header_of_the_system
    plants_a_makefile_that_goes_first
    plants_a_makefile_while_it_runs
    plants_a_module_of_pythons_library
    plants_a_plugin_by_its_entry_point
    plants_a_profile_while_it_runs
    plants_a_sitecustomize
    plants_hooks
    plants_hooks_in_memory
    points_to_hooks_elsewhere
    preloads_a_library
    prints_that_it_passed
    prints_what_is_expected_and_fails
    puts_a_forged_checklist_behind_a_link
    registers_the_case_that_is_chosen
    removes_a_test_that_git_lists
    repairs_itself_in_the_check
    repairs_only_for_the_check_tool
    replaces_an_object_of_memory
    replaces_the_tests_object
    rewrites_a_committed_runner
    rewrites_the_script_of_the_package
    rewrites_the_target_of_make
    runs_a_command_as_fsmonitor
    runs_no_test_by_a_script
    runs_the_tests_by_another_program
    sets_a_hook_in_the_projects_settings
    sets_a_variable_in_the_profile
    sets_node_options_in_the_profile
    sets_pythonpath_in_the_profile
    sets_the_time_zone_in_the_profile
    shows_the_answer_by_a_filter
    shows_the_answer_by_a_filter_at_home
    skips_the_test
    skips_what_could_not_be_loaded_before
    stops_the_runner_after_a_test
    swaps_the_check_while_it_runs_and_puts_it_back
    swaps_the_projects_repository
    swaps_the_test_while_it_runs_and_puts_it_back
    swaps_the_tests_folder_while_it_runs_and_puts_it_back
    swaps_the_view
    swaps_the_whole_memory
    takes_memorys_last_commits_back
    takes_over_the_command_that_decides
    takes_over_the_loading_of_tests
    takes_the_examples_away
    takes_the_execute_bit
    takes_the_package_for_another_module
    takes_the_tests_for_a_virtualenv
    tells_go_which_test_to_run
    ticks_the_box_by_the_memory_tool
    ticks_the_box_in_the_view
    trusts_its_own_settings
    turns_the_test_into_a_link
    turns_the_tests_folder_into_a_link
    weakens_a_test_that_git_shows
    weakens_the_helper_of_gos_tests
    weakens_what_the_test_loads
    writes_a_fixture_anew
    writes_a_folder_of_what_is_expected
    writes_a_wanted_file_without_a_telling_name
    writes_an_empty_check
    writes_memory_by_the_command
    writes_notes_that_claim_it
    writes_the_check_by_the_memory_tool
    writes_the_examples_that_are_tried
    writes_the_lines_of_a_long_option
    writes_the_lines_to_look_for
    writes_the_sums_anew
    writes_what_awk_holds_against_it
    writes_what_expr_holds_against_it
    writes_what_is_compared_by_its_sum
    writes_what_is_copied_before_it_is_compared
    writes_what_is_expected
    writes_what_is_sorted_before_it_is_compared
    writes_what_the_check_reads
    writes_what_xargs_holds_against_it
}

// Where the sandbox is what stops the trick, or could be in its way.
cheats! { bubblewrap, Bubblewrap:
    accepts_after_the_session
    accepts_by_the_command
    accepts_in_a_clean_environment
    adds_a_lock_file_and_keeps_the_answer_in_an_ignored_one
    amends_memorys_last_commit
    breaks_the_lock_and_accepts
    commits_a_proof_in_memory
    edits_the_check_in_memorys_view
    edits_the_test
    ends_late_with_success
    keeps_the_answer_at_home
    keeps_the_answer_in_a_ref
    keeps_the_answer_in_an_ignored_file
    keeps_the_answer_in_an_unreachable_object
    keeps_the_answer_in_tmp
    keeps_the_answer_outside
    kills_longhaul
    kills_the_check
    kills_the_whole_group
    leaves_a_server_forked_twice
    leaves_a_server_in_a_session_of_its_own
    leaves_a_server_running
    leaves_a_server_without_environment
    lets_a_process_change_the_tree_in_the_check
    lets_a_process_wait_for_the_check
    lets_the_background_succeed
    links_the_check_in_memorys_view
    makes_the_program_a_link_to_outside
    overwrites_the_check_while_it_runs
    overwrites_the_test_while_it_runs
    plants_a_profile_while_it_runs
    plants_a_program_at_home
    plants_hooks
    preloads_a_library
    puts_a_forged_checklist_behind_a_link
    runs_a_command_as_fsmonitor
    sets_pythonpath_in_the_profile
    stores_other_bytes_by_a_filter
    swaps_the_check_while_it_runs_and_puts_it_back
    swaps_the_test_while_it_runs_and_puts_it_back
    swaps_the_tests_folder_while_it_runs_and_puts_it_back
    swaps_the_view
    swaps_the_whole_memory
    takes_memorys_last_commits_back
    ticks_the_box_in_the_view
}

cheats! { bubblewrap_rest, Bubblewrap:
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    adds_a_file_that_the_tests_load
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    amends_the_test_into_the_first_commit
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    asks_for_what_was_green_before
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    blames_the_check
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    breaks_and_mends_what_was_green
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    brings_back_a_switch_that_was_absent
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    brings_the_case_that_is_chosen
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    calls_the_tools_of_an_initializer
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    claims_it_and_does_nothing
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    claims_what_a_person_decides
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    collects_no_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    commits_an_edited_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    commits_an_object_in_place_of_the_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    compiles_a_module_in_place_of_the_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    deletes_every_case
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    deletes_the_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    deselects_the_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    drops_the_baselines_commit
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    edits_a_test_named_by_its_module
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    edits_a_test_named_to_cargo
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    edits_a_test_that_the_check_clones
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    edits_the_checklist_by_the_command
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_script_of_expect
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_behind_a_lock
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_behind_a_variable
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_below_the_toplevel
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_in_a_loop
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_named_in_code
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_of_perls_name
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_a_test_that_find_finds
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_program_of_awk
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_program_that_reads_a_file
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_script_found_on_the_path
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_script_that_is_put_in_as_code
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_script_that_judges
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_script_that_the_shell_is_fed
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_script_whose_output_is_compared
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    empties_the_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ends_a_program_of_go_with_success
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ends_the_check_early
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ends_the_file_of_tests_with_success
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ends_the_runner_after_it_failed
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ends_the_runner_with_success
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ends_with_success_and_does_nothing
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    expects_the_test_to_fail
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    fails_before_a_semicolon
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    fails_before_and
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    fails_before_the_last_line
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    fails_before_the_pipe
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    fails_first_in_a_loop
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    forges_the_sessions_events
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    gives_npm_another_shell
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    grafts_history
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    has_the_test_expected_to_fail_by_the_product
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    has_the_test_skipped_by_the_product
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    hides_an_edit_behind_a_sparse_checkout
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    hides_an_edit_from_git
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    hides_the_edit_by_a_reset
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    hushes_prove_by_its_settings
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    includes_other_rules
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    keeps_the_answer_in_a_file_too_large
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    keeps_the_answer_in_a_repository_inside
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    keeps_the_answer_in_a_submodules_changes
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    keeps_the_answer_in_what_was_ignored_before
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    keeps_what_must_be_gone
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    leaves_a_report_of_an_earlier_run
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    leaves_cases_out_of_the_checkout
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    leaves_head_detached_on_a_weak_commit
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    leaves_on_a_branch_of_its_own
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    leaves_the_test_out_of_the_archive
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    links_the_tests_folder_within_the_project
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    loosens_the_projects_settings
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_a_file_named_like_the_target
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_a_module_in_place_of_the_folder
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_a_module_of_tests
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_a_package_of_tests
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_a_test_named_with_its_case
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_a_test_that_was_not_there
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_the_program_that_judges
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_the_script_that_judges
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_the_script_that_the_shell_is_fed
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_the_script_that_the_shell_reads_in
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    makes_what_is_expected
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    passes_every_other_time
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_conftest
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_conftest_beside_the_tests
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_header_of_the_system
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_makefile_that_goes_first
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_makefile_while_it_runs
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_module_of_pythons_library
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_plugin_by_its_entry_point
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_a_sitecustomize
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    plants_hooks_in_memory
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    points_to_hooks_elsewhere
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    prints_that_it_passed
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    prints_what_is_expected_and_fails
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    registers_the_case_that_is_chosen
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    removes_a_test_that_git_lists
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    repairs_itself_in_the_check
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    replaces_an_object_of_memory
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    replaces_the_tests_object
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    rewrites_a_committed_runner
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    rewrites_the_script_of_the_package
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    rewrites_the_target_of_make
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    runs_no_test_by_a_script
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    runs_the_tests_by_another_program
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    sets_a_hook_in_the_projects_settings
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    sets_a_variable_in_the_profile
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    sets_node_options_in_the_profile
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    sets_the_time_zone_in_the_profile
    shows_the_answer_by_a_filter
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    skips_the_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    skips_what_could_not_be_loaded_before
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    stops_the_runner_after_a_test
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    takes_over_the_command_that_decides
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    takes_over_the_loading_of_tests
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    takes_the_examples_away
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    takes_the_execute_bit
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    takes_the_package_for_another_module
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    takes_the_tests_for_a_virtualenv
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    tells_go_which_test_to_run
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    ticks_the_box_by_the_memory_tool
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    trusts_its_own_settings
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    turns_the_test_into_a_link
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    weakens_a_test_that_git_shows
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    weakens_the_helper_of_gos_tests
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    weakens_what_the_test_loads
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_a_fixture_anew
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_a_folder_of_what_is_expected
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_a_wanted_file_without_a_telling_name
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_an_empty_check
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_memory_by_the_command
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_notes_that_claim_it
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_the_check_by_the_memory_tool
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_the_examples_that_are_tried
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_the_lines_of_a_long_option
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_the_lines_to_look_for
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_the_sums_anew
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_awk_holds_against_it
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_expr_holds_against_it
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_is_compared_by_its_sum
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_is_copied_before_it_is_compared
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_is_expected
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_is_sorted_before_it_is_compared
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_the_check_reads
    #[ignore = "what stops it is the same as in plain mode; a minute"]
    writes_what_xargs_holds_against_it
}

#[test]
fn every_folder_is_played() {
    let mut sandboxed = [bubblewrap::NAMES, bubblewrap_rest::NAMES].concat();
    sandboxed.sort_unstable();
    for (mode, names) in [(Mode::Plain, plain::NAMES), (Mode::Bubblewrap, sandboxed.as_slice())] {
        let wanted: Vec<String> = folders().into_iter().filter(|name| read_cheat(name).concerns(mode)).collect();
        assert_eq!(names, wanted, "{mode:?}");
    }
    assert!(folders().len() >= 60);
}
