/// A phrase addressed to a model and not to a reader.
pub struct InjectionMarker {
    /// The intent of the phrase.
    pub intent: &'static str,
    /// The phrase: a regular expression over words in lower case with single spaces between; or
    /// over the unchanged text.
    pub pattern: &'static str,
    /// True if it is matched against the unchanged text.
    pub is_raw: bool,
}

const fn words(intent: &'static str, pattern: &'static str) -> InjectionMarker {
    InjectionMarker { intent, pattern, is_raw: false }
}

const fn raw(intent: &'static str, pattern: &'static str) -> InjectionMarker {
    InjectionMarker { intent, pattern, is_raw: true }
}

const OVERRIDE: &str = "to override instructions";
const ROLE: &str = "to change the role";
const LEAK: &str = "to have instructions told";
const SECRECY: &str = "to keep something from the user";
const TEMPLATE: &str = "to forge a part of the conversation";

pub const MARKERS: &[InjectionMarker] = &[
    words(
        OVERRIDE,
        "(?:ignore|disregard|forget|override|bypass|do not follow|don t follow|do not obey|stop following) (?:(?:all|any|every|the|your|my|our|of|these|those|and) ){0,4}(?:previous|prior|above|preceding|earlier|foregoing|original|initial|existing|system)(?: (?:and|or|system|safety|user|developer|given)){0,2} (?:instructions?|prompts?|directions?|directives?|guidelines?|commands?|orders?)",
    ),
    words(
        OVERRIDE,
        "(?:ignore|disregard|forget) (?:all|any|your) (?:of )?(?:(?:the|your) )?(?:(?:previous|prior|above|safety|earlier) )?(?:rules|instructions|guidelines|programming|training)",
    ),
    words(
        OVERRIDE,
        "(?:ignore|disregard|forget) (?:everything|anything|all) (?:above|before this|you were told|you have been told|you know|that came before)",
    ),
    words(
        OVERRIDE,
        "your (?:new|real|true|actual) (?:instructions|task|goal|objective|purpose) (?:is|are) (?:to|now|as follows)",
    ),
    words(
        OVERRIDE,
        "(?:new|updated|real) system (?:prompt|instructions|message) (?:begins?|starts?|follows?)|(?:end of|end) system prompt|begin system prompt",
    ),
    words(
        OVERRIDE,
        "ignorier(?:e|en sie) (?:(?:alle|die|deine|ihre) ){0,2}(?:vorherigen|bisherigen|obigen|vorangegangenen|früheren) (?:anweisungen|instruktionen|befehle|regeln)",
    ),
    words(OVERRIDE, "ignor(?:a|e|ar) (?:todas )?(?:las )?instrucciones (?:anteriores|previas)"),
    words(
        OVERRIDE,
        "ignor(?:e|ez|er) (?:toutes )?(?:les )?(?:instructions|consignes) (?:précédentes|antérieures|ci dessus)",
    ),
    words(OVERRIDE, "ignora(?:re)? (?:tutte )?(?:le )?istruzioni precedenti"),
    words(OVERRIDE, "ignor(?:e|ar) (?:todas )?(?:as )?instruções (?:anteriores|prévias)"),
    words(OVERRIDE, "игнорируй(?:те)? (?:все )?(?:предыдущие|прошлые) (?:инструкции|указания)"),
    words(
        OVERRIDE,
        "(?:忽略|无视)(?:所有|全部)?(?:之前|以上|上述|前面|先前)(?:的)?(?:所有|全部)?(?:的)?(?:指令|指示|提示)",
    ),
    words(OVERRIDE, "(?:これまで|以前|上記|前)の(?:すべての|全ての)?(?:指示|命令)を(?:すべて|全て)?無視"),
    words(
        ROLE,
        "you are (?:now|from now on) (?:(?:an?|in|the) ){0,2}(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer mode|god mode)",
    ),
    words(ROLE, "(?:enter|enable|activate|switch to) (?:dan|god|jailbreak) mode"),
    words(
        ROLE,
        "you can do anything now|do anything now mode|act as (?:an? )?(?:unrestricted|unfiltered|uncensored|jailbroken)",
    ),
    words(
        ROLE,
        "(?:without|with no|no) (?:ethical|moral|safety) (?:restrictions|guidelines|filters|limits) (?:apply|whatsoever|or)",
    ),
    words(
        LEAK,
        "(?:reveal|print|show|repeat|output|disclose|leak|display|tell me|give me) (?:me )?(?:(?:your|the|all|entire|full|complete|hidden|exact|of) ){1,4}(?:system prompt|system message|initial prompt|initial instructions|system instructions|developer message)",
    ),
    words(LEAK, "repeat (?:all (?:of )?)?the (?:words|text) above"),
    words(
        SECRECY,
        "(?:do not|don t|never) (?:tell|inform|mention|reveal|alert|notify)(?: (?:this|it|that|any of this|about this|anything)){0,2}(?: (?:to|about this to))? (?:the|your) (?:user|human|operator)",
    ),
    words(SECRECY, "attention (?:all )?(?:ai|llm) (?:assistants?|models?|agents?)"),
    raw(
        TEMPLATE,
        r"(?i)<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|end_of_text|end_of_turn)\|>",
    ),
    raw(TEMPLATE, r"\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"),
    raw(TEMPLATE, r"(?i)</?(?:system_prompt|system-prompt|system-reminder|system_instructions)>"),
];
