//! The arguments of the attributes.

use crate::kinds::{self, Kind};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Result, Token, braced, token};

/// The arguments of one attribute.
pub struct Arguments {
    parts: Vec<Expr>,
    options: Vec<(Ident, Value)>,
}

/// The value of an option.
enum Value {
    One(Expr),
    /// Of labels and annotations.
    Map(Vec<(Expr, Expr)>),
}

struct Entry {
    key: Expr,
    value: Expr,
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> Result<Entry> {
        let key = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Entry { key, value: input.parse()? })
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Arguments> {
        let mut arguments = Arguments { parts: Vec::new(), options: Vec::new() };
        while !input.is_empty() {
            if input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                let name = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                if let Some((before, _)) = arguments.options.iter().find(|(other, _)| *other == name) {
                    return Err(Error::new(name.span(), format!("the option `{before}` is given twice")));
                }
                let value =
                    if input.peek(token::Brace) { Value::parse_map(input)? } else { Value::One(input.parse()?) };
                arguments.options.push((name, value));
            } else {
                let part: Expr = input.parse()?;
                if let Some((option, _)) = arguments.options.last() {
                    let message = format!("parts of the resource come before options such as `{option}`");
                    return Err(Error::new_spanned(part, message));
                }
                arguments.parts.push(part);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

impl Value {
    fn parse_map(input: ParseStream) -> Result<Value> {
        let content;
        braced!(content in input);
        let entries = Punctuated::<Entry, Token![,]>::parse_terminated(&content)?;
        Ok(Value::Map(entries.into_iter().map(|entry| (entry.key, entry.value)).collect()))
    }
}

impl Arguments {
    /// The selector of the resource; nothing for activities.
    pub fn selector(&self, kind: &Kind, attribute: Span) -> Result<Option<TokenStream>> {
        let named: Vec<_> = self.options.iter().filter(|(name, _)| is_part(name)).collect();
        if !kind.objects {
            return match self.parts.first() {
                Some(part) => Err(Error::new_spanned(part, format!("{} handlers are for no resource", kind.name))),
                None => Ok(None),
            };
        }
        if let (Some(_), Some((name, _))) = (self.parts.first(), named.first()) {
            return Err(Error::new(name.span(), "a resource is given either by its parts in order, or by their names"));
        }
        if let Some(extra) = self.parts.get(3) {
            return Err(Error::new_spanned(extra, "a resource has up to three parts: group, version, name"));
        }
        let parts: Vec<_> = self.parts.iter().map(expression).collect();
        match parts.len() {
            0 if named.is_empty() => {
                let message = format!("which resource? Such as `#[kopf::{}(\"kopfexamples\")]`", kind.name);
                Err(Error::new(attribute, message))
            }
            0 => {
                let calls = named.iter().map(|(name, value)| match value {
                    Value::One(value) => Ok(quote!(.#name(#value))),
                    Value::Map(_) => Err(Error::new(name.span(), format!("`{name}` is a text"))),
                });
                let calls = calls.collect::<Result<TokenStream>>()?;
                Ok(Some(quote!(::kopf::Selector::new() #calls)))
            }
            1 => Ok(Some(quote!(#(#parts)*))),
            _ => Ok(Some(quote!((#(#parts),*)))),
        }
    }

    /// The calls that set the options of a `kopf::Handler`.
    pub fn calls(&self, kind: &Kind) -> Result<TokenStream> {
        let known = kinds::options(kind.name);
        let mut calls = TokenStream::new();
        for (name, value) in self.options.iter().filter(|(name, _)| !(kind.objects && is_part(name))) {
            if !known.iter().any(|known| name == known) {
                return Err(Error::new(name.span(), unknown(kind, &name.to_string(), &known)));
            }
            calls.extend(call(name, value)?);
        }
        if kind.name == "field" && !self.options.iter().any(|(name, _)| name == "field") {
            return Err(Error::new(Span::call_site(), "which field? Such as `field = \"spec.size\"`"));
        }
        Ok(calls)
    }
}

fn is_part(name: &Ident) -> bool {
    kinds::PARTS.iter().any(|part| name == part)
}

/// What is wrong with an option that the kind does not have.
fn unknown(kind: &Kind, name: &str, known: &[&'static str]) -> String {
    let owners: Vec<_> = kinds::KINDS.iter().filter(|kind| kinds::options(kind.name).contains(&name)).collect();
    if !owners.is_empty() {
        let owners: Vec<_> = owners.iter().map(|kind| format!("`{}`", kind.name)).collect();
        return format!("{} handlers have no option `{name}`; it is for {}", kind.name, owners.join(", "));
    }
    let hint = match kinds::nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.join(", ")),
    };
    format!("unknown option `{name}`; {hint}")
}

/// The calls for one option.
fn call(name: &Ident, value: &Value) -> Result<TokenStream> {
    let filters = match name.to_string().as_str() {
        "labels" => Some("label"),
        "annotations" => Some("annotation"),
        _ => None,
    };
    match (filters, value) {
        (Some(single), Value::Map(entries)) => {
            let method = Ident::new(single, name.span());
            let calls = entries.iter().map(|(key, value)| {
                let value = filter(value);
                quote!(.#method(#key, #value))
            });
            Ok(calls.collect())
        }
        (Some(_), Value::One(value)) => {
            Err(Error::new_spanned(value, format!("`{name}` are given as {{\"name\": filter}}")))
        }
        (None, Value::Map(_)) => Err(Error::new(name.span(), format!("`{name}` is not a map"))),
        (None, Value::One(value)) => Ok(plain(name, value)),
    }
}

fn plain(name: &Ident, value: &Expr) -> TokenStream {
    let is_closure = matches!(value, Expr::Closure(_));
    let (method, value) = match name.to_string().as_str() {
        "value" | "old" | "when" => (name.clone(), filter(value)),
        "new" => (Ident::new("new_value", name.span()), filter(value)),
        "initial_delay" if is_closure => (format_ident!("initial_delay_fn"), quote!(#value)),
        _ => (name.clone(), expression(value)),
    };
    quote_spanned!(value.span()=> .#method(#value))
}

/// A filter: the argument of a closure needs no type.
fn filter(value: &Expr) -> TokenStream {
    match value {
        Expr::Closure(closure) => quote!(::kopf::Filter::check(#closure)),
        value => expression(value),
    }
}

/// An expression, in which Kopf's words for modes of errors are known.
fn expression(value: &Expr) -> TokenStream {
    if let Expr::Path(path) = value {
        let span = value.span();
        match path.path.get_ident().map(ToString::to_string).as_deref() {
            Some("TEMPORARY") => return quote_spanned!(span=> ::kopf::ErrorsMode::Temporary),
            Some("PERMANENT") => return quote_spanned!(span=> ::kopf::ErrorsMode::Permanent),
            Some("IGNORED") => return quote_spanned!(span=> ::kopf::ErrorsMode::Ignored),
            _ => {}
        }
    }
    quote!(#value)
}
