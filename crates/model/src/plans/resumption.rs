use wf_base::keywords;

keywords! {
    listed
    /// The way in which a suspended run of a plan goes on once what it waits for is answered or over.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ResumeMode {
        /// A process of `wf` that notices it resumes the run.
        #[default]
        Automatic = "automatic",
        /// A person resumes it.
        Manual = "manual",
    }
}
