//! A first order.

use super::LINKS_TO_BEGIN;
use super::towns::{Town, Towns};

/// The best of the orders that always go on with the nearest flow, from some flows to begin with.
pub(super) fn nearest_neighbours(towns: &Towns) -> Vec<Town> {
    let flows = towns.flows();
    let starts = (LINKS_TO_BEGIN / (flows * flows)).clamp(1, 2 * flows);
    let mut best: (f64, Vec<Town>) = (f64::INFINITY, Vec::new());
    for index in 0..starts {
        let first = index * 2 * flows / starts;
        // One that can only be drawn as given begins as given.
        let first = towns.turned(towns.turned(first));
        let tour = from(towns, first);
        let far = towns.travel(&tour);
        if far < best.0 {
            best = (far, tour);
        }
    }
    best.1
}

fn from(towns: &Towns, first: Town) -> Vec<Town> {
    let mut left: Vec<usize> = (0..towns.flows())
        .filter(|&flow| flow != first / 2)
        .collect();
    let mut tour = Vec::with_capacity(towns.flows());
    tour.push(first);
    let mut at = first;
    while !left.is_empty() {
        let mut best = (f64::INFINITY, 0, at);
        for (place, &flow) in left.iter().enumerate() {
            let given = 2 * flow;
            for town in [given, towns.turned(given)] {
                let far = towns.link(at, town) + towns.between(town);
                if far < best.0 {
                    best = (far, place, town);
                }
            }
        }
        left.swap_remove(best.1);
        at = best.2;
        tour.push(at);
    }
    tour
}
