//! Plugins that are made from policies, from their text to placements.

mod policies;
