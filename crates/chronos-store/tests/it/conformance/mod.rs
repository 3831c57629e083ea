//! The suite that defines the store port: each case once, run on every engine by one line.
//!
//! A case gets a bench with an empty store. Whatever history it leaves, the store is closed and opened
//! again afterwards and must then answer as before.

pub(crate) mod accounts;
pub(crate) mod auditing;
pub(crate) mod backfilling;
pub(crate) mod cancelling;
pub(crate) mod claiming;
pub(crate) mod crowds;
pub(crate) mod finding;
pub(crate) mod finishing;
pub(crate) mod firing;
pub(crate) mod jobs;
pub(crate) mod journal;
pub(crate) mod manual;
pub(crate) mod messages;
pub(crate) mod once;
pub(crate) mod pausing;
pub(crate) mod pruning;
pub(crate) mod quiet_hours;
pub(crate) mod reading;
pub(crate) mod reaping;
pub(crate) mod redriving;
pub(crate) mod subscriptions;
pub(crate) mod switching;
pub(crate) mod taking;
pub(crate) mod telling;

/// Runs every case, and random histories, on one engine. A case that is not listed here is dead code,
/// which the compiler reports.
macro_rules! conformance {
    ($engine:ident, $open:path, $histories:expr) => {
        conformance! { @cases $engine, $open, $histories,
            jobs {
                a_new_job_stands_at_its_first_slot,
                names_are_unique_per_owner,
                an_id_is_taken_once,
                what_cannot_be_meant_is_refused,
                a_renamed_job_frees_its_old_name,
                an_edit_keeps_identity_and_standing_and_counts_versions,
                a_change_of_an_older_version_is_refused,
                an_edit_settles_due_slots_under_the_old_schedule,
                an_edit_that_cannot_be_meant_changes_nothing,
                deleting_cancels_what_waits_and_asks_what_runs_to_stop,
                a_deleted_job_keeps_nothing_for_a_successor_of_its_name,
                jobs_page_in_the_order_of_their_ids,
                an_unknown_job_is_said_to_be_unknown,
            }
            pruning {
                days_that_are_not_to_be_kept_go_and_the_rest_stays,
                the_newest_decisions_stay_however_old_they_are,
                many_executions_go_in_several_steps,
            }
            firing {
                due_jobs_fire_oldest_first_up_to_the_limit,
                nothing_fires_before_its_slot,
                a_fired_slot_is_an_execution_that_waits,
                two_planners_fire_each_slot_once,
                a_missed_slot_is_recorded_with_its_reason,
                a_slot_that_overlaps_is_recorded_with_its_reason,
                caught_up_slots_run_in_order_one_behind_the_other,
                a_long_absence_is_recorded_within_bounds,
                more_slots_than_one_plan_holds_fire_once_each,
                a_fixed_delay_counts_from_the_end_of_the_run,
                a_one_time_job_fires_once_even_late,
                a_bounded_schedule_ends,
                jitter_moves_the_run_and_not_the_slot,
                cron_jobs_keep_their_place_over_a_restart,
            }
            taking {
                what_may_begin_at_once_is_taken_as_a_claim_would_take_it,
                no_more_is_taken_than_there_is_room_for,
                what_waits_longer_goes_first,
                what_may_not_begin_yet_is_not_taken,
                tokens_grow_over_takes_claims_and_restarts,
            }
            claiming {
                claims_come_in_the_order_of_their_time_up_to_the_limit,
                the_urgent_go_before_those_that_have_waited_longer,
                a_claim_says_what_to_run_for_whom_and_until_when,
                nothing_is_claimed_before_its_time,
                what_is_held_is_claimed_only_after_the_run_before_it,
                tokens_grow_over_claims_and_restarts,
                two_workers_never_get_the_same_execution,
                renewing_extends_the_lease,
                renewals_are_answered_one_by_one_in_order,
                an_old_token_is_powerless,
                what_is_handed_back_is_queued_as_before,
            }
            finishing {
                success_ends_a_run_with_what_it_wrote,
                a_request_and_its_answer_survive_a_restart,
                an_end_reported_late_ended_when_it_did,
                a_failure_that_may_pass_is_tried_again_at_the_same_slot,
                a_target_may_ask_for_patience,
                a_failure_that_will_repeat_is_a_dead_letter_at_once,
                a_run_over_its_time_is_tried_again_like_a_failure,
                the_next_slot_takes_the_place_of_a_waiting_retry,
                several_ends_are_answered_one_by_one_in_order,
                runs_of_one_job_that_end_together_all_count,
                what_is_over_stays_as_it_ended,
                a_graceful_stop_uses_up_nothing,
                a_job_may_find_nothing_to_do,
                a_failed_run_lets_the_one_behind_it_go_first,
                every_end_starts_one_of_those_that_wait,
            }
            reaping {
                a_lease_is_taken_back_only_after_it_ran_out,
                a_slot_lost_too_often_is_a_dead_letter,
                losses_use_up_no_retry,
                a_run_far_over_its_time_is_taken_from_a_worker_that_renews,
                reaping_keeps_to_its_limit,
                runs_of_one_job_that_are_lost_together_all_count,
                a_lost_run_that_was_asked_to_stop_does_not_come_back,
                what_waits_behind_a_lost_run_waits_on,
            }
            cancelling {
                what_waits_is_cancelled_at_once,
                what_runs_is_asked_to_stop,
                a_run_that_succeeds_all_the_same_is_a_success,
                an_unknown_execution_is_said_to_be_unknown,
                what_is_handed_back_after_a_request_to_stop_ends,
                cancelling_one_lets_the_one_behind_it_go,
                a_fixed_delay_goes_on_after_its_run_was_cancelled,
                a_newer_slot_replaces_the_run_before_it,
            }
            manual {
                a_run_by_hand_starts_now_and_leaves_the_cadence,
                a_run_by_hand_is_refused_while_another_is_alive,
                a_slot_is_skipped_while_a_run_by_hand_is_alive,
                two_runs_by_hand_at_one_instant_stay_two,
                a_run_by_hand_ignores_a_pause,
                a_run_keeps_the_trace_that_it_was_asked_for_in,
                a_run_by_hand_queues_behind_another_if_the_policy_says_so,
                a_job_that_is_over_can_be_run_by_hand,
            }
            pausing {
                slots_in_a_pause_are_skipped_and_never_made_up_for,
                a_run_that_waits_out_its_jitter_is_skipped_by_a_pause,
                a_waiting_retry_is_held_by_a_pause_and_goes_on_after_it,
                a_failure_during_a_pause_waits_for_its_end,
                what_is_handed_back_during_a_pause_waits_for_its_end,
                a_one_time_job_is_late_after_a_pause_and_not_lost,
                pausing_twice_and_resuming_twice_is_the_same_as_once,
                a_pause_ends_by_itself_also_while_nobody_is_there,
                a_pause_ends_between_slots_and_lets_what_it_held_go,
                a_job_that_is_over_resumes_by_itself_as_well,
                whoever_waits_hears_when_a_pause_ends,
            }
            quiet_hours {
                policies_page_in_the_order_of_their_ids,
                a_policy_keeps_all_that_it_says,
                an_edit_keeps_what_identifies_a_policy_and_counts_versions,
                names_of_policies_are_unique_and_bounded,
                an_unknown_policy_is_refused,
                a_policy_in_use_stays,
                of_many_jobs_that_observe_a_policy_the_first_are_told,
                a_date_apart_is_obeyed,
                a_slot_in_quiet_hours_is_skipped_with_its_reason,
                a_deferred_slot_fires_when_quiet_hours_end,
                an_edited_policy_holds_from_then_on,
            }
            crowds {
                a_crowd_keeps_nobody_elses_job_from_firing,
                a_crowd_fires_beside_others_that_are_due,
                a_crowd_is_claimed_after_all_others,
                a_crowd_has_its_turn_whatever_there_is,
                a_crowd_is_claimed_where_there_is_an_opening_for_it,
                a_crowd_is_taken_where_there_is_an_opening_for_it,
                what_belongs_to_nobody_is_no_crowd,
            }
            finding {
                each_filter_finds_what_it_asks_for,
                what_is_asked_for_is_only_text,
                filters_narrow_each_other,
                pages_neither_miss_nor_repeat_while_jobs_come_and_go,
                an_edit_is_found_under_what_it_says_now,
                a_status_follows_what_is_alive,
            }
            telling {
                a_final_failure_and_the_recovery_after_it_are_told,
                a_notice_is_no_run_of_its_job,
                runs_neither_wait_for_notices_nor_take_them_back,
                a_notice_that_is_never_taken_is_given_up_and_not_told_of,
                a_webhook_out_of_order_gathers_one_notice_of_a_kind,
                a_lost_notice_is_told_by_another_worker,
                a_run_that_has_not_begun_in_time_is_told_of_once,
                a_run_that_began_in_time_is_not_overdue,
                a_run_that_a_person_keeps_waiting_is_not_overdue,
                telling_of_overdue_runs_keeps_to_its_limit,
                slots_that_nobody_fired_are_told_together,
                what_is_usually_told_holds_for_jobs_that_do_not_say,
                deleting_a_job_takes_back_what_was_to_be_told,
            }
            messages {
                a_slot_that_fires_has_said_its_message,
                a_slot_that_does_not_fire_says_nothing,
                what_fires_at_once_is_said_in_order,
                a_fixed_delay_counts_from_what_was_said,
                two_planners_say_each_slot_once,
                a_run_by_hand_says_it_too,
                events_are_read_on_from_anywhere,
                filters_narrow_what_is_read_and_not_how_far,
                what_was_said_outlives_its_job,
                old_events_are_forgotten_and_numbers_are_not_used_again,
                long_messages_are_said_in_several_steps,
                whoever_watches_hears_of_messages,
            }
            journal {
                every_end_is_told_once_with_the_decision_that_led_to_it,
                what_is_cancelled_ends_where_it_does,
                the_journal_is_read_on_from_anywhere,
                the_journal_tells_of_jobs_as_they_are_now,
                an_end_outlives_its_job,
            }
            once {
                the_same_request_makes_one_job,
                a_key_is_good_for_one_request,
                a_request_is_known_over_restarts_and_forgotten_after_a_day,
                the_same_request_makes_one_run,
                what_is_refused_is_not_remembered,
                requests_at_once_make_one_job,
                an_owner_has_no_more_jobs_than_it_may,
                many_jobs_are_made_each_by_itself,
                jobs_at_once_are_no_more_than_their_owner_may_have,
            }
            backfilling {
                missed_slots_run_once_each_and_the_cadence_stays,
                what_has_run_is_passed_over_and_done_again_only_by_force,
                the_newest_come_first_up_to_the_cap_at_a_pace,
                it_goes_on_after_a_restart_where_it_was,
                the_overlap_policy_holds_and_the_schedule_goes_first,
                as_many_run_at_once_as_both_allow,
                failures_count_with_their_last_error_and_may_be_redriven,
                it_is_paused_resumed_and_cancelled_with_what_is_alive_of_it,
                a_paused_job_keeps_its_backfill_waiting,
                a_job_that_is_switched_off_gives_its_backfills_up,
                a_deleted_job_takes_its_backfills_along,
                messages_are_said_for_slots_that_said_nothing,
                two_nodes_fire_each_slot_once,
                what_cannot_be_done_is_refused_and_changes_nothing,
                a_job_has_a_few_unfinished_ones_and_keeps_some_that_are_over,
                decisions_name_the_backfill_and_who_asked,
            }
            redriving {
                a_dead_letter_is_tried_again_at_its_slot,
                a_dead_letter_is_redriven_once,
                redriven_slots_wait_behind_each_other,
                what_is_not_dead_is_not_redriven,
            }
            switching {
                a_disabled_job_has_no_slots_and_nothing_of_it_runs_on,
                an_enabled_job_goes_on_with_its_next_slot,
                a_one_time_job_that_was_disabled_can_still_run,
                disabling_twice_is_the_same_as_once,
            }
            auditing {
                what_somebody_asks_for_is_told_as_theirs_and_the_rest_is_not,
                what_is_done_about_policies_is_decided_in_the_same_step,
                what_a_node_put_in_order_is_on_record,
                a_run_and_its_end_are_found_by_their_trace,
                what_is_asked_for_is_found_among_thousands_in_both_directions,
                an_empty_audit_is_read_to_its_end,
            }
            reading {
                executions_page_newest_first_over_live_and_past,
                what_lives_of_some_jobs_is_told_without_the_rest,
                dead_letters_page_newest_first,
                dead_letters_outlive_their_job,
                decisions_can_be_read_on_from_anywhere,
                figures_count_jobs_and_what_lives,
                workers_are_listed_as_they_last_described_themselves,
                a_checkpoint_is_found_by_the_next_run,
                flushing_and_compacting_change_no_answer,
                whoever_watches_hears_what_may_be_due,
                whoever_watches_hears_of_a_fixed_delays_next_slot,
            }
        }
    };
    (@cases $engine:ident, $open:path, $histories:expr, $($theme:ident { $($case:ident,)* })*) => {
        mod $engine {
            $(mod $theme {
                $(#[tokio::test]
                async fn $case() {
                    let mut bench = $crate::bench::Bench::new($open().await).await;
                    $crate::conformance::$theme::$case(&mut bench).await;
                    bench.reopen().await;
                })*
            })*

            #[test]
            fn random_histories_keep_the_invariants_and_survive_a_restart() {
                let open = || async { $crate::bench::Bench::new($open().await).await };
                $crate::model::check($histories, None, open);
            }

            #[test]
            fn random_histories_go_on_over_many_restarts() {
                let open = || async { $crate::bench::Bench::new($open().await).await };
                $crate::model::check($histories / 2, Some(3), open);
            }
        }
    };
}
pub(crate) use conformance;
