/// Hides nothing, until the mask is there.
#[derive(Debug, Default)]
pub struct Mask;
