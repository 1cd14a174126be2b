//! Numerics without pictures: quantiles, least squares, peaks of histograms, even spacing.

pub mod peaks;
pub mod quantile;
pub mod regression;
pub mod spacing;
