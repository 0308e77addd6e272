use std::ops::Deref;

use clap::{ArgMatches, Args, Command, FromArgMatches, error::Error};

/// The arguments of a command, built only where it is called: building those of all commands takes
/// longer than everything else before a plan is read. The description of the command must be in the
/// list of commands.
#[derive(Debug)]
pub struct LazyArgs<T>(T);

impl<T> Deref for LazyArgs<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for LazyArgs<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| keep_description(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| keep_description(command, T::augment_args_for_update))
    }
}

impl<T: FromArgMatches> FromArgMatches for LazyArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Keeps the description of the command, regardless of those of its parts.
fn keep_description(command: Command, augment: fn(Command) -> Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    augment(command).about(about).long_about(None)
}
