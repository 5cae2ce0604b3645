//! Answers what a claim asks of the results: which steps, at which sizes or with how many users, which number of which
//! systems, and how these are judged. One evaluator for every paper.

use super::claims::{By, Claim, Query};
use super::judge::{Judged, comparable, each, number, order, short};

/// The results of a paper.
pub(crate) trait Measured {
    /// A number of a system in a step; `None` if it was not measured.
    fn value(&self, step: &str, at: u32, system: &str, field: &str) -> Option<f64>;

    /// The sizes that `sizes` selects from.
    fn sizes(&self) -> &[u32] {
        &[]
    }
}

/// The verdict on a claim by all its questions, whose numbers are judged together.
pub(crate) fn answer(claim: &Claim, of: &dyn Measured) -> Option<Judged> {
    let [first, more @ ..] = &claim.query[..] else { return None };
    let mut numbers = first.numbers(of);
    for query in more {
        numbers.as_mut()?.extend(query.numbers(of)?);
    }
    first.judged(claim, of, numbers)
}

/// The verdict by the claim's own fields, which name systems but no step.
pub(crate) fn plain(claim: &Claim, step: &str, at: u32, field: &str, of: &dyn Measured) -> Option<Judged> {
    let (by, a, b) = match claim.text("kind")? {
        "value" | "range" => (By::Number, vec![claim.text("of")?.to_owned()], Vec::new()),
        "ratio" => (By::Number, claim.list("a"), claim.list("b")),
        "order" => (By::Order, Vec::new(), Vec::new()),
        _ => return None,
    };
    let name = Some("{a}/{b}".to_owned());
    let (step, at, field) = (vec![step.to_owned()], vec![at], field.to_owned());
    let query = Query { by, step, at, field, a, b, name, ..Query::default() };
    query.judged(claim, of, query.numbers(of))
}

impl Query {
    fn at(&self, of: &dyn Measured) -> Vec<u32> {
        match self.sizes {
            Some((first, last)) => of.sizes().iter().copied().filter(|at| (first..=last).contains(at)).collect(),
            None if self.at.is_empty() => vec![0],
            None => self.at.clone(),
        }
    }

    /// A number at a place: that of `a`, or its ratio to that of `b`.
    fn value(&self, of: &dyn Measured, step: &str, at: u32, a: &str, b: Option<&str>) -> Option<f64> {
        let mut value = of.value(step, at, a, &self.field)?;
        if let Some(over) = &self.over {
            value /= of.value(step, at, a, over)?;
        }
        if let Some(b) = b {
            value /= of.value(step, at, b, &self.field)?;
        }
        value /= self.per.unwrap_or(1.0);
        Some(if self.loss { 1.0 - value } else { value })
    }

    /// The number of a system that the claim orders or compares; `a` and `b` say what of it, where that is not all.
    fn of_system(&self, of: &dyn Measured, step: &str, at: u32, system: &str) -> Option<f64> {
        let name = |pattern: &String| pattern.replace("{}", system);
        let a = self.a.first().map_or_else(|| system.to_owned(), name);
        self.value(of, step, at, &a, self.b.first().map(name).as_deref())
    }

    fn named(&self, step: &str, at: u32, a: &str, b: &str) -> String {
        let pattern = self.name.as_deref().unwrap_or("{a}");
        pattern.replace("{step}", step).replace("{at}", &at.to_string()).replace("{a}", a).replace("{b}", b)
    }

    fn numbers(&self, of: &dyn Measured) -> Option<Vec<(String, f64)>> {
        let bs: Vec<Option<&str>> = match &self.b[..] {
            [] => vec![None],
            bs => bs.iter().map(|b| Some(&**b)).collect(),
        };
        let mut all = Vec::new();
        for step in &self.step {
            for at in self.at(of) {
                for a in &self.a {
                    for b in &bs {
                        let name = self.named(step, at, a, b.unwrap_or_default());
                        all.push((name, self.value(of, step, at, a, *b)?));
                    }
                }
            }
        }
        // What selects nothing says nothing.
        Some(all).filter(|all| !all.is_empty())
    }

    fn judged(&self, claim: &Claim, of: &dyn Measured, numbers: Option<Vec<(String, f64)>>) -> Option<Judged> {
        if self.each {
            let one = |step: &String| {
                let query = Query { step: vec![step.clone()], each: false, ..self.clone() };
                Some((step.clone(), query.judged(claim, of, query.numbers(of))?))
            };
            return Some(each(self.step.iter().map(one).collect::<Option<_>>()?));
        }
        match self.by {
            By::Number => Some(number(claim, &numbers?)),
            By::Mean => {
                let numbers = numbers?;
                let sum: f64 = numbers.iter().map(|(_, number)| number.ln()).sum();
                let mean = (sum / numbers.len() as f64).exp();
                Some(number(claim, &[(String::new(), mean)]))
            }
            By::Order => self.everywhere(of, |step, at| order(claim, |system| self.of_system(of, step, at, system))),
            By::Comparable => {
                let systems = if self.a.is_empty() { claim.list("systems") } else { self.a.clone() };
                self.everywhere(of, |step, at| {
                    comparable(claim, &systems, |system| self.value(of, step, at, system, None))
                })
            }
            By::Fall => order(claim, |system| {
                let (first, last) = self.ends(of, system)?;
                Some((1.0 - last / first).max(0.0))
            }),
            By::Trend => self.trend(claim, of),
        }
    }

    /// One judgement, or one at each of several places.
    fn everywhere(&self, of: &dyn Measured, judge: impl Fn(&str, u32) -> Option<Judged>) -> Option<Judged> {
        let at = self.at(of);
        if let ([step], [at]) = (&self.step[..], &at[..]) {
            return judge(step, *at);
        }
        let places = self.step.iter().flat_map(|step| at.iter().map(move |at| (step, *at)));
        let one = |(step, at): (&String, u32)| Some((self.named(step, at, "", ""), judge(step, at)?));
        let judged: Vec<_> = places.map(one).collect::<Option<_>>()?;
        (!judged.is_empty()).then(|| each(judged))
    }

    fn ends(&self, of: &dyn Measured, system: &str) -> Option<(f64, f64)> {
        let ([step, ..], [first, .., last]) = (&self.step[..], &self.at[..]) else { return None };
        Some((self.of_system(of, step, *first, system)?, self.of_system(of, step, *last, system)?))
    }

    fn trend(&self, claim: &Claim, of: &dyn Measured) -> Option<Judged> {
        let times = self.times.unwrap_or(1.0);
        let rises = claim.text("direction") == Some("increase");
        let (mut holds, mut ours) = (true, Vec::new());
        for member in claim.list("of") {
            let system = member.split('/').next().unwrap_or_default();
            let (first, last) = self.ends(of, system)?;
            holds &= if rises { last > first } else { last < times * first };
            ours.push(format!("{system} {} to {}", short(first), short(last)));
        }
        let said = |text: &Option<String>| text.clone().unwrap_or_default();
        Some(Judged { holds, expected: said(&self.says), ours: ours.join(", "), why: said(&self.why) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::claims_of;
    use super::*;

    /// A number is the size, times a system's weight.
    struct Scale;

    impl Measured for Scale {
        fn value(&self, step: &str, at: u32, system: &str, _: &str) -> Option<f64> {
            let weight = match system {
                "fast" => 3.0,
                "fast+" => 6.0,
                _ => 1.0,
            };
            (step != "never").then_some(f64::from(at.max(1)) * weight)
        }

        fn sizes(&self) -> &[u32] {
            &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
        }
    }

    fn judged(expected: &str, query: &str) -> Option<Judged> {
        let text = format!(
            "id = 'x'\npaper = 'p'\nwhere = 'w'\ncls = 'measured'\nsystems = []\nworkload = 'l'\nmetric = 'm'\n\
             statement = 's'\nexpected = {{ {expected} }}\nquery = [{query}]"
        );
        answer(&toml::from_str(&text).unwrap(), &Scale)
    }

    fn ours(expected: &str, query: &str) -> (bool, String) {
        let judged = judged(expected, query).unwrap();
        (judged.holds, judged.ours)
    }

    #[test]
    fn numbers_are_of_each_step_size_and_pair_of_systems_and_those_of_several_queries_are_judged_together() {
        let ratio = "{ step = ['a'], sizes = [2, 4], a = ['fast'], b = ['slow'], name = '{step} {at} {a}/{b}' }";
        assert_eq!(ours("value = 3", ratio), (true, "a 2 fast/slow 3.00, a 4 fast/slow 3.00".into()));
        let two = format!("{ratio}, {{ step = ['b'], at = [8], a = ['slow'], per = 4, loss = true }}");
        assert_eq!(ours("value = 3", &two), (false, "a 2 fast/slow 3.00, a 4 fast/slow 3.00, slow -1.00".into()));
        let mean = "{ by = 'mean', step = ['a'], sizes = [2, 8], a = ['slow'] }";
        assert_eq!(ours("value = 4", mean), (true, "4.00".into()));
        assert!(judged("value = 1", "{ step = ['never'], a = ['slow'] }").is_none());
    }

    #[test]
    fn orders_comparisons_and_trends_are_of_the_claims_systems() {
        let order = "kind = 'order', order = [['fast'], ['slow']], sort = 'asc'";
        let (holds, shown) = ours(order, "{ by = 'order', step = ['a'], sizes = [1, 2], name = '{at} KB' }");
        assert_eq!((holds, shown.starts_with("1 KB: fast 3.00; slow 1.00 (does not hold); 2 KB: ")), (false, true));
        let more = "{ by = 'order', step = ['a'], a = ['{}+'], b = ['{}'] }";
        assert_eq!(ours(order, more), (false, "fast 2.00; slow 1.00".into()));
        let same = "{ by = 'fall', step = ['a'], at = [8, 4] }";
        assert_eq!(ours(order, same), (true, "fast 0.50; slow 0.50".into()));
        let alike = "{ by = 'comparable', each = true, step = ['a', 'b'], a = ['slow', 'x'] }";
        assert_eq!(ours("tol_rel = 0.1", alike), (true, "a: slow 1.00, x 1.00; b: slow 1.00, x 1.00".into()));
        let trend = |direction: &str, more: &str| {
            let expected = format!("of = ['slow'], direction = '{direction}'");
            ours(&expected, &format!("{{ by = 'trend', step = ['a'], at = [8, 4]{more} }}"))
        };
        assert_eq!(trend("drop", ""), (true, "slow 8.00 to 4.00".into()));
        assert!(!trend("increase", "").0 && !trend("drop", ", times = 0.5").0);
    }

    #[test]
    fn what_selects_nothing_is_not_judged() {
        let none = "step = ['a'], sizes = [3, 3], a = ['fast']";
        assert!(judged("value = 3", &format!("{{ {none} }}")).is_none());
        assert!(
            judged(
                "kind = 'order', order = [['fast'], ['slow']], sort = 'asc'",
                &format!("{{ by = 'order', {none} }}")
            )
            .is_none()
        );
    }

    #[test]
    fn each_query_can_be_answered_where_all_is_measured() {
        let all = ["mup1994", "lvc1995", "jsu2000", "aj"].into_iter().flat_map(claims_of);
        let asked: Vec<Claim> = all.filter(|claim| !claim.query.is_empty()).collect();
        assert!(asked.len() > 80);
        for claim in asked {
            assert!(answer(&claim, &Scale).is_some(), "{}", claim.id);
        }
    }
}
